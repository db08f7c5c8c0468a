// Runs and ranks beside each other.
#include "base/median.hpp"
#include "base/text.hpp"
#include "export/formats.hpp"
#include "export/values.hpp"
#include "report/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace inline_prof::exports {
namespace {

Json time_json(const join::ComparedTime& time) {
  Json json;
  json["layer"] = time.layer;
  json["layers"] = time.layers;
  json["event"] = or_null(time.event);
  json["occurrence"] = time.occurrence;
  json["share_percent"] = or_null(time.share_percent);
  json["before_us"] = time.before_us.value;
  json["before_ci95_us"] = or_null(time.before_us.ci95);
  json["after_us"] = time.after_us.value;
  json["after_ci95_us"] = or_null(time.after_us.ci95);
  json["ratio"] = or_null(time.ratio);
  json["ratio_ci95"] = or_null(time.ratio_ci95);
  json["change"] = change_name(time.change);
  json["kernels_changed"] = time.kernels_changed;
  json["reason"] = or_null(time.reason);
  return json;
}

void add_csv(std::string& out, std::string_view kind, const join::ComparedTime& time) {
  out += fmt::format(
      "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", kind, base::csv_cell(time.layer),
      base::csv_cell(time.event), time.occurrence, csv_number(time.share_percent),
      time.before_us.value, csv_interval(time.before_us.ci95), time.after_us.value,
      csv_interval(time.after_us.ci95), csv_number(time.ratio), csv_interval(time.ratio_ci95),
      change_name(time.change), base::csv_cell(time.reason), time.layers, time.kernels_changed);
}

Json device_json(const join::RankDevice& device) {
  return {{"file", device.file},
          {"host", device.host},
          {"rank", or_null(device.rank)},
          {"device_id", device.device_id}};
}

Json pattern_event_json(const join::RankPattern::Event& event) {
  return {{"layer", event.layer},
          {"event", event.event},
          {"occurrence", event.occurrence},
          {"devices", event.devices},
          {"slow_devices", event.slow_devices},
          {"time_us", event.time_us},
          {"median_us", event.median_us},
          {"ratio", event.ratio}};
}

Json pattern_json(const join::RankPattern& pattern) {
  return {{"dimension", pattern.dimension},
          {"value", pattern.value},
          {"devices", pattern.devices},
          {"ratio", or_null(pattern.ratio)},
          {"events", list_of(pattern.events, pattern_event_json)}};
}

Json stage_json(const join::PipelineStage& stage) {
  const join::StageTimes& times = stage.times;
  return {{"ranks", stage.ranks},
          {"iteration_us", or_null(times.iteration_us)},
          {"computing_us", times.computing_us},
          {"collectives_us", times.collectives_us},
          {"sends_us", times.sends_us},
          {"receives_us", times.receives_us},
          {"exchanges_us", times.exchanges_us},
          {"predicted_us", or_null(times.predicted_us)},
          {"unmeasured_part", times.unmeasured_part}};
}

Json slow_device_json(const join::Straggler& slow) {
  return {{"device", device_json(slow.device)},
          {"ratio", slow.ratio},
          {"of_predicted", or_null(slow.of_predicted)},
          {"others_of_predicted", or_null(slow.others_of_predicted)}};
}

Json straggler_json(const join::Straggler& slow) {
  return {{"device", device_json(slow.device)},
          {"layer", slow.layer},
          {"event", slow.event},
          {"occurrence", slow.occurrence},
          {"time_us", slow.time_us},
          {"median_us", slow.median_us},
          {"ratio", slow.ratio}};
}

Json collective_json(const join::CollectiveSplit& split) {
  return {{"layer", split.layer},
          {"event", split.event},
          {"occurrence", split.occurrence},
          {"iterations", split.iterations},
          {"transfer_us", split.transfer_us},
          {"wait_us", split.wait_us},
          {"predicted_us", or_null(split.predicted_us)},
          {"ranks", split.ranks},
          {"last", split.last ? device_json(*split.last) : Json()}};
}

Json scaling_time_json(const join::ScalingTime& time) {
  return {{"run", time.point->run},        {"simulated", time.point->is_simulated},
          {"gpus", time.point->gpus},      {"layer", time.layer ? Json(*time.layer) : Json()},
          {"mean_us", time.times.mean_us}, {"slowest_us", time.times.slowest_us}};
}

}  // namespace

std::string compare_json(const join::Comparison& comparison) {
  Json json;
  json["schema"] = "inline_prof_compare/2";
  json["simulated"] = comparison.is_simulated;
  json["doubts"] = comparison.doubts;
  json["margin"] = comparison.margin;
  json["phase_before"] = or_null(comparison.phase_before);
  json["phase_after"] = or_null(comparison.phase_after);
  json["differences"] =
      list_of(comparison.differences, [](const join::Difference& difference) -> Json {
        return {{"what", difference.what}, {"text", difference.text}};
      });
  json["iteration"] = comparison.iteration ? time_json(*comparison.iteration) : Json();
  json["patterns"] = list_of(comparison.patterns, time_json);
  json["layers"] = list_of(comparison.layers, time_json);
  json["events"] = list_of(comparison.events, time_json);
  return document(json);
}

std::string compare_csv(const join::Comparison& comparison) {
  std::string out =
      "kind,layer,event,occurrence,share_percent,before_us,before_ci95_lower_us,"
      "before_ci95_upper_us,after_us,after_ci95_lower_us,after_ci95_upper_us,ratio,"
      "ratio_ci95_lower,ratio_ci95_upper,change,reason,layers,kernels_changed\n";
  if (comparison.iteration) add_csv(out, "iteration", *comparison.iteration);
  for (const join::ComparedTime& time : comparison.patterns)
    add_csv(out, "pattern", time);
  for (const join::ComparedTime& time : comparison.layers)
    add_csv(out, "layer", time);
  for (const join::ComparedTime& time : comparison.events)
    add_csv(out, "event", time);
  return out;
}

std::string check_json(std::span<const CheckedGate> gates, bool is_simulated,
                       const std::string& doubts) {
  Json json{{"schema", "inline_prof_check/1"}, {"simulated", is_simulated}, {"doubts", doubts}};
  json["gates"] = Json::array();
  for (const CheckedGate& gate : gates)
    json["gates"].push_back({{"gate", gate.gate},
                             {"result", gate.result},
                             {"value", or_null(gate.outcome.value)},
                             {"ci95", or_null(gate.outcome.ci95)},
                             {"detail", gate.outcome.detail}});
  return document(json);
}

std::string ranks_json(const join::RankComparison& comparison) {
  Json json;
  json["schema"] = "inline_prof_ranks/1";
  json["simulated"] = comparison.is_simulated;
  json["phase"] = or_null(comparison.phase);
  json["devices"] = comparison.devices;
  json["events"] = comparison.events;
  json["events_of_few_samples"] = comparison.events_of_few_samples;
  json["stages"] = list_of(comparison.stages, stage_json);
  json["patterns"] = list_of(comparison.patterns, pattern_json);
  json["slow_devices"] = list_of(comparison.slow_devices, slow_device_json);
  json["stragglers"] = list_of(comparison.stragglers, straggler_json);
  json["collectives"] = list_of(comparison.collectives, collective_json);
  json["unsplit"] = comparison.unsplit;
  add_watched(json, comparison.watched);
  json["warnings"] = comparison.warnings;
  return document(json);
}

std::string scaling_json(std::span<const join::ScalingPoint> points, std::size_t most_layers) {
  Json json;
  json["schema"] = "inline_prof_scaling/1";
  json["times"] = list_of(join::scaling_times(points, most_layers), scaling_time_json);
  return document(json);
}

// Histories as JSON, which the page shows, too, and as counters for Perfetto.

namespace {

// Five digits: a bin's median is known to 1 %.
Json number(double value) {
  if (!std::isfinite(value)) return {};
  return std::strtod(fmt::format("{:.5g}", value).c_str(), nullptr);
}

Json series_json(const join::Series& series) {
  return list_of(series, number);
}

// Returns the newest reading of each column: the page's lines need no more.
Json readings_json(const join::WatchedRun& run,
                   const std::vector<watch::MachineReading>& readings) {
  Json json = Json::object();
  for (const watch::MachineColumn& facts : watch::kMachineColumns) {
    Json values = Json::array();
    bool is_known = false;
    auto reading = readings.begin();
    for (const join::TimeColumn& time : run.columns) {
      double newest = watch::kUnknown;
      for (; reading != readings.end() && reading->time_s <= time.end_s; ++reading) {
        const double value = (*reading).*facts.value;
        if (!std::isnan(value)) newest = value;
      }
      is_known = is_known || !std::isnan(newest);
      values.push_back(number(newest));
    }
    if (is_known) json[facts.key] = std::move(values);
  }
  return json;
}

Json change_json(const join::WatchedRun& run, const join::RunChange& change) {
  return {{"text", report::change_words(run, change)},
          {"began_s", change.began_s},
          {"began_iteration", change.began_iteration},
          {"layers", change.layers},
          {"ranks", change.ranks},
          {"waiting", change.waiting},
          {"before_us", change.before_us},
          {"after_us", change.after_us},
          {"ratio", change.ratio},
          {"ratio_ci95", {change.ratio_ci95.lower, change.ratio_ci95.upper}},
          {"reason", or_null(change.reason)}};
}

Json counter_json(const std::string& name, std::size_t process, double time_us, double value) {
  return {{"name", name}, {"ph", "C"},     {"pid", process},
          {"tid", 0},     {"ts", time_us}, {"args", {{"value", value}}}};
}

}  // namespace

void add_watched(Json& json, const std::optional<join::WatchedRun>& run) {
  static const join::WatchedRun not_watched;
  const join::WatchedRun& of = run ? *run : not_watched;
  json["changes"] =
      list_of(of.changes, [&](const join::RunChange& change) { return change_json(of, change); });
  json["recurrences"] = list_of(of.recurrences, [](const join::Recurrence& one) -> Json {
    return {{"cause", one.cause},
            {"what", one.what},
            {"evidence", one.evidence},
            {"ranks", one.ranks},
            {"ratio", one.ratio}};
  });
}

std::string history_json(const join::WatchedRun& run) {
  Json json;
  json["schema"] = "inline_prof_history/1";
  json["watched"] = report::watched_words(run);
  json["until_s"] = run.until_s;
  json["budget"] = run.budget;
  json["pairs"] = run.pairs;
  json["cost_share"] = or_null(run.cost_share);
  add_watched(json, run);
  const auto column = [&](auto member) {
    return list_of(run.columns, [&](const join::TimeColumn& time) { return time.*member; });
  };
  json["columns"] = {{"start_s", column(&join::TimeColumn::start_s)},
                     {"end_s", column(&join::TimeColumn::end_s)},
                     {"first_iteration", column(&join::TimeColumn::first_iteration)},
                     {"last_iteration", column(&join::TimeColumn::last_iteration)}};
  json["layers"] = list_of(run.layers, [](const join::WatchedLayer& layer) -> Json {
    return {{"layer", layer.name.str()}, {"us", series_json(layer.us)}};
  });
  json["ranks"] = list_of(run.ranks, [&](const join::WatchedRank& rank) -> Json {
    const auto i = static_cast<std::size_t>(&rank - run.ranks.data());
    return {{"name", join::name_of(run, i)},
            {"host", rank.host},
            {"rank", or_null(rank.rank)},
            {"device_id", rank.device_id},
            {"file", rank.file},
            {"event_list", rank.event_list},
            {"processes", rank.processes},
            {"iteration_us", series_json(rank.iteration_us)},
            {"own_us", series_json(rank.own_us)},
            {"machine", readings_json(run, rank.machine)}};
  });
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string history_perfetto(const join::WatchedRun& run) {
  Json events = Json::array();
  const double start_s = run.columns.empty() ? 0.0 : run.columns.front().start_s;
  const auto time_us = [&](double seconds) { return (seconds - start_s) * 1e6; };
  const auto name_process = [&](std::size_t process, const std::string& name) {
    events.push_back({{"name", "process_name"},
                      {"ph", "M"},
                      {"pid", process},
                      {"tid", 0},
                      {"args", {{"name", name}}}});
  };
  const auto add = [&](const std::string& name, std::size_t process, const join::Series& series) {
    for (std::size_t i = 0; i < series.size(); ++i) {
      if (!std::isnan(series[i]))
        events.push_back(
            counter_json(name, process, time_us(run.columns[i].start_s), double{series[i]}));
    }
  };
  name_process(0, "layers, us in an iteration, median over ranks");
  for (const join::WatchedLayer& layer : run.layers)
    add(layer.name.str(), 0, layer.us);
  for (const join::RunChange& change : run.changes)
    events.push_back({{"name", report::change_words(run, change)},
                      {"ph", "i"},
                      {"s", "g"},
                      {"pid", 0},
                      {"tid", 0},
                      {"ts", time_us(change.began_s)}});
  for (std::size_t i = 0; i < run.ranks.size(); ++i) {
    const join::WatchedRank& rank = run.ranks[i];
    name_process(i + 1, fmt::format("{}, {}", join::name_of(run, i), rank.host));
    add("iteration_us", i + 1, rank.iteration_us);
    add("own_us", i + 1, rank.own_us);
    for (const watch::MachineReading& reading : rank.machine) {
      for (const watch::MachineColumn& facts : watch::kMachineColumns) {
        const double value = reading.*facts.value;
        if (!std::isnan(value))
          events.push_back(counter_json(facts.key, i + 1, time_us(reading.time_s), value));
      }
    }
  }
  const Json json{{"traceEvents", std::move(events)},
                  {"displayTimeUnit", "ms"},
                  {"otherData", {{"what", report::watched_words(run)}}}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace inline_prof::exports
