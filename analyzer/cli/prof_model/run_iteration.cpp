#include "cli/prof_model/run_iteration.hpp"

#include "cli/prof_model/measured_run.hpp"
#include "model/published/dlrm/trace_iteration.hpp"
#include "read/read_profile.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace inline_prof::cli {
namespace {

// Each outermost row of the first device is an operator with its calls as kernels.
void walk_rows(const join::Analysis& analysis, RunIteration& result) {
  std::vector<const join::Row*> rows;
  for (const join::Row& row : analysis.rows) {
    const bool is_first = join::device_of(row) == join::device_of(analysis.rows.front());
    if (is_first && !row.parent && (row.predicted_us || row.corrected_us)) rows.push_back(&row);
  }
  std::ranges::stable_sort(rows, {}, &join::Row::start_index);
  constexpr const char* call = "launch";
  read::IterationGraph graph;
  graph.costs.launch[call] = 0;
  for (const join::Row* row : rows) {
    const std::string name = row->event.str();
    graph.costs.before[name] = graph.costs.after[name] = graph.costs.among[name] = 0;
    read::IterationOperator op;
    op.name = name;
    op.is_modelled = true;
    op.has_collective = row->op_kind == "collective";
    const auto calls = static_cast<std::size_t>(std::max<std::int64_t>(1, row->calls));
    op.kernels_us.assign(calls, row->predicted_us ? *row->predicted_us : *row->working_us());
    graph.costs.launches[name].assign(std::max(calls, graph.costs.launches[name].size()), call);
    graph.operators.push_back(std::move(op));
    ++result.rows;
    if (row->predicted_us) ++result.published_rows;
  }
  const model::WalkResult walked = model::walk(graph);
  if (walked.error.empty() && !rows.empty()) result.published_us = walked.end_to_end;
}

std::string line(const char* what, const std::optional<double>& time_us,
                 const std::optional<double>& measured_us) {
  if (!time_us) return fmt::format("{:<20}           -\n", what);
  const std::string share = measured_us && *measured_us > 0 && time_us != measured_us
                                ? fmt::format(", {:+.1f} %", 100 * (*time_us / *measured_us - 1))
                                : "";
  return fmt::format("{:<20}{:12.2f} us{}\n", what, *time_us, share);
}

}  // namespace

RunIteration iteration_of_run(const std::filesystem::path& file,
                              const std::optional<read::Machine>& machine,
                              const std::string& layers, const std::string& products) {
  RunIteration result;
  read::Profile profile = read::read_profile(file);
  const join::Analysis ours = analyse_run(profile, machine, layers, model::Models::kCalibrated);
  result.measured_us = ours.iteration.us;
  result.iterations = ours.runs.front().profile.iter_time_ms.size();
  result.ours_us = ours.predicted_path_us;
  result.ours_part = ours.predicted_part;
  result.reason = ours.longest_path_reason;
  if (ours.predicted_path_ci90_us) {
    result.lower_us = ours.predicted_path_ci90_us->lower;
    result.upper_us = ours.predicted_path_ci90_us->upper;
  }
  if (!ours.rows.empty())
    walk_rows(analyse_run(std::move(profile), machine, layers, model::Models::kPublished, products),
              result);
  return result;
}

std::string run_iteration_text(const RunIteration& iteration) {
  std::string text = line("measured", iteration.measured_us, std::nullopt) +
                     line("published", iteration.published_us, iteration.measured_us);
  if (!iteration.note.empty()) text += fmt::format("  {}\n", iteration.note);
  if (iteration.rows > 0) {
    text += fmt::format(
        "  {} of {} rows by published models, the others as measured; T1 to T5 "
        "are not in the file and count as 0\n",
        iteration.published_rows, iteration.rows);
  }
  text += line("ours", iteration.ours_us, iteration.measured_us);
  if (!iteration.ours_us) return text + fmt::format("  {}\n", iteration.reason);
  if (iteration.lower_us)
    text += fmt::format("  90 % interval {:.2f} to {:.2f} us\n", *iteration.lower_us,
                        *iteration.upper_us);
  return text + fmt::format("  {:.1f} % of it are predictions, the rest is as measured\n",
                            100 * iteration.ours_part);
}

std::string run_iteration_json(const RunIteration& iteration) {
  const auto value = [](const std::optional<double>& time_us) {
    return time_us ? nlohmann::ordered_json(*time_us) : nlohmann::ordered_json();
  };
  return nlohmann::ordered_json{{"measured_us", value(iteration.measured_us)},
                                {"published_us", value(iteration.published_us)},
                                {"rows", iteration.rows},
                                {"published_rows", iteration.published_rows},
                                {"ours_us", value(iteration.ours_us)},
                                {"ours_lower_us", value(iteration.lower_us)},
                                {"ours_upper_us", value(iteration.upper_us)},
                                {"ours_part", iteration.ours_part}}
      .dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace inline_prof::cli
