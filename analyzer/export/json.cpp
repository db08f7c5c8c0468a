#include "export/formats.hpp"
#include "export/values.hpp"
#include "join/diagnose/idle.hpp"
#include "join/rollups.hpp"
#include "read/input_error.hpp"
#include "read/iteration_input.hpp"
#include "report/columns.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace inline_prof::exports {
namespace {

Json shares_json(const std::optional<join::Shares>& shares, double scale) {
  if (!shares) return {};
  return {{"predicted", shares->predicted * scale},
          {"measured", shares->measured * scale},
          {"seen", shares->seen * scale},
          {"idle", shares->idle * scale}};
}

Json idle_behind_json(const join::IdleBehind& behind) {
  return {{"place", behind.place}, {"us", behind.us}};
}

Json idle_part_json(const join::IdlePart& part) {
  return {{"reason", join::idle_reason_name(part.reason)},
          {"us", part.us},
          {"ci95_us", or_null(part.ci95_us)},
          {"behind", list_of(part.behind, idle_behind_json)}};
}

Json kernel_sum_json(const join::KernelSum& sum) {
  return {{"rows", sum.rows},
          {"measured_us", sum.measured_us},
          {"predicted_us", sum.predicted_us},
          {"error_us", sum.error_us}};
}

void add_errors(Json& json, const std::optional<join::Errors>& errors) {
  json["mape"] = errors ? Json(errors->mape) : Json();
  json["gmae"] = errors ? Json(errors->gmae) : Json();
  json["bias"] = errors ? Json(errors->bias) : Json();
  json["median_ratio"] = errors ? Json(errors->median_ratio) : Json();
  json["error_rows"] = errors ? errors->rows : 0;
}

Json overhead_json(const std::optional<read::Overhead>& overhead) {
  if (!overhead) return {};
  Json json;
  json["slowdown_percent"] = or_null(overhead->slowdown_percent);
  json["slowdown_percent_ci95"] = overhead->slowdown_percent_ci95
                                      ? Json::array({overhead->slowdown_percent_ci95->first,
                                                     overhead->slowdown_percent_ci95->second})
                                      : Json();
  json["iterations_needed"] = or_null(overhead->iterations_needed);
  json["method"] = overhead->method;
  json["armed_iterations"] = overhead->armed_iterations;
  json["unarmed_iterations"] = overhead->unarmed_iterations;
  return json;
}

Json phases_json(const read::Profile& profile) {
  return list_of(profile.phases, [&](const read::Phase& phase) -> Json {
    const auto i = static_cast<std::size_t>(&phase - profile.phases.data());
    return {{"number", i + 1},
            {"is_shown", i == profile.phase},
            {"iterations", phase.iterations},
            {"stretches", phase.stretches},
            {"share", or_null(phase.share)},
            {"reason", phase.reason},
            {"kernel_launches", phase.kernel_launches},
            {"graph_launches", phase.graph_launches},
            {"graph_kernels", phase.graph_kernels},
            {"measured", phase.measured}};
  });
}

Json run_json(const join::Run& run) {
  const read::Profile& profile = run.profile;
  Json json;
  json["file"] = profile.file;
  json["host_name"] = profile.host_name;
  json["rank"] = or_null(profile.rank);
  json["command"] = or_null(profile.command);
  json["complete"] = profile.complete;
  json["simulated"] = profile.simulated;
  json["iterations"] = profile.iter_time_ms.size();
  json["iteration_us"] = or_null(run.iteration.us);
  json["iteration_source"] = or_null(profile.profiler.iteration_source);
  json["iteration_confidence"] = or_null(profile.profiler.iteration_confidence);
  if (!profile.phases.empty()) json["phases"] = phases_json(profile);
  json["overhead"] = overhead_json(profile.overhead);
  json["dropped"] = Json::object();
  for (const auto& [what, count] : profile.dropped)
    json["dropped"][what] = count;
  json["not_seen"] = profile.not_seen;
  json["devices"] = list_of(profile.devices, [&](const read::Device& device) -> Json {
    const auto i = static_cast<std::size_t>(&device - profile.devices.data());
    return {{"device_id", device.device_id},
            {"name", device.name},
            {"machine", or_null(run.machines[i])}};
  });
  return json;
}

Json overlap_json(const std::optional<join::Overlap>& overlap) {
  if (!overlap) return {};
  return {{"one_by_one_us", overlap->one_by_one_us}, {"together_us", overlap->together_us}};
}

Json isolated_json(const std::optional<join::Isolated>& isolated) {
  if (!isolated) return {};
  return {{"alone_us", isolated->alone_us},
          {"alone_ci95_us", {isolated->alone_ci95_us.lower, isolated->alone_ci95_us.upper}},
          {"kernel_name", or_null(isolated->kernel_name)},
          {"is_stand_in", isolated->is_stand_in},
          {"cause", isolated->cause}};
}

struct ValueJson {
  Json operator()(std::monostate) const { return {}; }
  Json operator()(const std::optional<join::Interval>& value) const { return or_null(value); }
  Json operator()(const std::optional<join::Isolated>& value) const { return isolated_json(value); }
  template <typename Value>
  Json operator()(const Value& value) const {
    return value;
  }
};

// The rows that models were asked about, each with what they say.
Json by_model_json(const std::vector<join::Row>& rows) {
  Json json = Json::array();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const join::ModelTime& time : rows[i].by_model)
      json.push_back({{"row", i},
                      {"model", time.model},
                      {"predicted_us", or_null(time.predicted_us)},
                      {"predicted_ci90_us", or_null(time.predicted_ci90_us)},
                      {"reason", or_null(time.reason.str())}});
  }
  return json;
}

Json model_json(const join::ModelScore& score) {
  Json json{{"kind", score.kind},
            {"model", score.model},
            {"rows", score.rows},
            {"predicted", score.predicted},
            {"share_percent", score.share_percent}};
  add_errors(json, score.errors);
  json["with_interval"] = score.with_interval;
  json["inside"] = score.inside;
  json["reason"] = or_null(score.reason);
  return json;
}

template <typename Row>
Json row_json(const Row& row) {
  Json json;
  for (const report::Column<Row>& column : report::columns_of<Row>()) {
    if (column.shown.in_json)
      json[std::string(column.name)] = std::visit(ValueJson(), column.value(row));
  }
  return json;
}

Json cause_json(const join::Cause& cause) {
  return {{"name", cause.name},
          {"advice", cause.advice},
          {"where", or_null(cause.where)},
          {"rows", cause.rows},
          {"time_us", cause.time_us},
          {"share_percent", or_null(cause.share_percent)},
          {"gain_us", cause.gain_us}};
}

Json total_json(const join::Total& total) {
  return {{"name", total.name},
          {"count", total.count},
          {"time_us", total.time_us},
          {"share_percent", or_null(total.share_percent)},
          {"ratio", or_null(total.ratio)},
          {"peak_part", or_null(total.peak_part)}};
}

}  // namespace

std::string json_report(const join::Analysis& analysis) {
  Json json;
  json["schema"] = "inline_prof_report/1";
  json["machine"] = or_null(analysis.machine);
  json["machine_reason"] = or_null(analysis.machine_reason);
  json["event_bias_us"] = analysis.event_bias_us;
  json["event_bias_source"] = analysis.event_bias_source;
  json["event_bias_detail"] = or_null(analysis.event_bias_detail);
  json["kernel_floor_us"] = or_null(analysis.kernel_floor_us);
  json["iteration_us"] = or_null(analysis.iteration.us);
  json["iteration_ci95_us"] = or_null(analysis.iteration.ci95_us);
  json["shares"] = shares_json(analysis.shares_percent, 1.0);
  json["shares_ms"] = shares_json(analysis.shares_us, 1e-3);
  json["shares_reason"] = or_null(analysis.shares_reason);
  const auto file_of = [&](std::size_t run) { return analysis.runs[run].profile.file; };
  json["idle"] = list_of(analysis.idle, [&](const join::Idle& idle) -> Json {
    return {{"file", file_of(idle.profile)},
            {"device_id", idle.device_id},
            {"idle_us", idle.idle_us},
            {"parts", list_of(idle.parts, idle_part_json)}};
  });
  json["rank_waits"] = list_of(analysis.rank_waits, [&](const join::RankWait& wait) -> Json {
    return {{"file", file_of(wait.profile)},
            {"device_id", wait.device_id},
            {"for_file", file_of(wait.for_profile)},
            {"for_device_id", wait.for_device_id},
            {"us", wait.us},
            {"exposed_us", wait.exposed_us}};
  });
  json["longest_path_us"] = or_null(analysis.longest_path_us);
  json["all_predicted_us"] = or_null(analysis.all_predicted_us);
  json["predicted_path_us"] = or_null(analysis.predicted_path_us);
  json["predicted_path_ci90_us"] = or_null(analysis.predicted_path_ci90_us);
  json["predicted_part"] = analysis.predicted_path_us ? Json(analysis.predicted_part) : Json();
  json["longest_path_reason"] = or_null(analysis.longest_path_reason);
  add_errors(json, analysis.errors);
  json["calibrated"] = kernel_sum_json(analysis.calibrated);
  json["calibrated"]["predicted_ci90_us"] =
      analysis.calibrated.rows > 0 ? or_null(std::optional(analysis.calibrated.ci90_us)) : Json();
  json["bounds"] = kernel_sum_json(analysis.bounds);
  json["collectives"] = kernel_sum_json(analysis.collectives);
  json["uncorrected"] = Json::object();
  add_errors(json["uncorrected"], analysis.uncorrected_errors);
  json["overlap"] = overlap_json(analysis.overlap);
  json["samples"] = analysis.samples;
  json["outliers"] = analysis.outliers;
  json["unmeasured_events"] = analysis.unmeasured_events;
  json["unmeasured_events_without_time"] = analysis.unmeasured_without_time;
  json["dropped_offsets"] = analysis.dropped_offsets;
  json["negative_times"] = analysis.negative_times;
  json["runs"] = list_of(analysis.runs, run_json);
  json["rows"] = list_of(analysis.rows, row_json<join::Row>);
  json["merged_rows"] = list_of(analysis.merged, row_json<join::MergedRow>);
  json["models"] = list_of(join::model_scores(analysis), model_json);
  json["by_model"] = by_model_json(analysis.rows);
  json["causes"] = list_of(join::find_causes(analysis), cause_json);
  json["layer_patterns"] = list_of(join::totals_by_layer_pattern(analysis), total_json);
  json["operators"] = list_of(join::totals_by_operator(analysis), total_json);
  json["flops_utilisation"] = or_null(join::flops_utilisation(analysis));
  add_watched(json, analysis.watched);
  json["warnings"] = analysis.warnings;
  return document(json);
}

std::string tasks_report(const join::Analysis& analysis) {
  if (!analysis.longest_path_us)
    throw read::InputError(fmt::format("no tasks to write: {}", analysis.longest_path_reason));
  const read::TaskGraph& graph = analysis.tasks;
  Json json{{"schema", read::kTaskGraphSchema}, {"tasks", Json::array()}};
  for (const read::Task& task : graph.tasks) {
    Json own{{"name", task.name}, {"time_us", task.time_us}};
    if (task.predicted_us) own["predicted_us"] = *task.predicted_us;
    if (task.not_before_us > 0) own["not_before_us"] = task.not_before_us;
    for (const read::Wait& wait : task.waits)
      own["waits"].push_back({{"task", wait.task}, {"delay_us", wait.delay_us}});
    json["tasks"].push_back(std::move(own));
  }
  for (std::size_t meeting = 0; meeting < graph.meetings.size(); ++meeting) {
    for (const std::size_t member : graph.meetings[meeting])
      json["tasks"][member]["meeting"] = fmt::format("{}", meeting);
  }
  return document(json);
}

}  // namespace inline_prof::exports
