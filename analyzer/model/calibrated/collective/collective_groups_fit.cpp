#include "fit/calibrated_fit.hpp"
#include "fit/measured_rows.hpp"
#include "model/calibrated/calibration.hpp"
#include "model/calibrated/calibration_json.hpp"
#include "model/calibrated/collective/collective.hpp"
#include "model/published/collective/collective_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace inline_prof::fit {
namespace {

using Eigen::Index;
using model::CollectiveAnalytic;

constexpr Index kSizeFolds = 4;
constexpr int kRestarts = 8;
constexpr double kLeastTimeUs = 0.5;
// Below this size the time is latency, whatever links the ranks.
constexpr double kSmallMessageBytes = 1 << 20;

struct Group {
  model::CollectiveKind kind;
  bool can_switch_add;
  std::vector<const MeasuredRow*> rows;
};

std::map<std::string, Group> groups_of(const MeasuredRows& rows) {
  std::map<std::string, Group> groups;
  std::vector<BoundedRow> bounded;
  for (const MeasuredRow& row : rows) {
    const model::Row cells = row.cells();
    const auto kind = model::collective_kind(cells.text("op"));
    if (!kind) {
      throw read::InputError(
          fmt::format("{}, column op: unknown collective {}", row.place, cells.text("op")));
    }
    // Milliseconds as microseconds, or seconds: the fastest protocol takes several.
    if (row.time_us < kLeastTimeUs) {
      throw read::InputError(
          fmt::format("{}, column time_us: expected {} us at least for a collective, found {}: "
                      "another unit?",
                      row.place, kLeastTimeUs, row.time_us));
    }
    const std::string &stack = cells.text("stack"), &type = cells.text("type");
    Group& group = groups[model::collective_group(*kind, type, stack)];
    group.kind = *kind;
    group.can_switch_add = stack.empty() && model::can_switch_add(*kind, type);
    group.rows.push_back(&row);
    if (cells.number("bytes") <= kSmallMessageBytes) bounded.push_back({&row, 0});
  }
  refuse_another_unit(std::move(bounded));
  return groups;
}

CalibratedProblem problem_of(const Group& group) {
  CalibratedProblem problem;
  const auto specs = CollectiveAnalytic::parameters(group.can_switch_add);
  problem.specs.assign(specs.begin(), specs.end());
  problem.restarts = kRestarts;
  Eigen::VectorXd sizes(static_cast<Index>(group.rows.size()));
  for (const MeasuredRow* row : group.rows) {
    const double bytes = row->cells().number("bytes"), ranks = row->cells().number("num_gpus");
    problem.log_measured.push_back(std::log(row->time_us));
    problem.features.push_back(model::collective_features(bytes, ranks));
    problem.points.push_back({bytes, ranks});
    sizes[static_cast<Index>(problem.points.size()) - 1] = problem.features.back()[0];
  }
  problem.folds = folds_by_key(sizes, kSizeFolds);
  problem.has_regimes = true;
  problem.times = [kind = group.kind, with_switch = group.can_switch_add,
                   points = problem.points](std::span<const double> values) {
    const CollectiveAnalytic analytic(kind, with_switch, values);
    return of_each(points, [&](const model::RawPoint& point) {
      const model::CollectiveTime time = analytic.predict(point[0], point[1]);
      return RowTime{time.time_us, time.bound};
    });
  };
  return problem;
}

using Scores = std::map<std::string, std::vector<double>, std::less<>>;

// One group as a member of the file, but for its `scores`: three dozen rows say little about a
// twentieth on either side, so all groups are judged by the scores of all, latencies apart from
// bandwidths.
nlohmann::json fit_group(const std::string& name, const Group& group, const FitRequest& request,
                         std::string& summary, Scores& scores) {
  const auto least = CollectiveAnalytic::parameters(group.can_switch_add).size();
  if (group.rows.size() < least) {
    throw read::InputError(
        fmt::format("{}: {} rows of {}, but a fit of {} parameters needs {} at "
                    "least",
                    request.tables.front().label(), group.rows.size(), name, least, least));
  }
  read::Parameters own;
  own.model = "collective";
  FitRequest own_request = request;
  own_request.prior.clear();
  own_request.tables.clear();
  summary += fmt::format("{}: {}", name, fit_calibrated(problem_of(group), own_request, own));
  std::set<double> rank_counts;
  for (const MeasuredRow* row : group.rows)
    rank_counts.insert(row->cells().number("num_gpus"));
  own.parameters["rank_counts"] = rank_counts;
  const model::ConformalTable table = model::read_conformal(own);
  for (const auto& [regime, values] : table.scores())
    scores[regime].insert(scores[regime].end(), values.begin(), values.end());
  return {
      {"parameters", own.parameters}, {"covariance", own.covariance}, {"residual", own.residual}};
}

bool has_our_columns(const FitRequest& request) {
  return std::all_of(request.tables.begin(), request.tables.end(), [&](const read::Table& table) {
    return table.find("op") && table.find("num_gpus") && table.find("bytes") &&
           table.find("time_us");
  });
}

FitResult fit_collectives(const FitRequest& request) {
  if (!has_our_columns(request)) return fit_collective_curves(request);
  const MeasuredRows rows(request, model::kCollectiveInputs);
  FitResult result;
  nlohmann::json groups = nlohmann::json::object();
  Scores scores;
  for (const auto& [name, group] : groups_of(rows))
    groups[name] = fit_group(name, group, request, result.summary, scores);

  read::Parameters parameters;
  try {
    FitRequest of_nccl = request;
    std::erase_if(of_nccl.tables, [](const read::Table& table) { return table.find("stack"); });
    const FitResult curves = fit_collective_curves(of_nccl);
    parameters = read::parse_parameters(curves.file_text, "curves", "collective");
    result.summary += curves.summary;
  } catch (const read::InputError& error) {
    result.summary += fmt::format("no curves for --edition published: {}\n", error.what());
    parameters.model = "collective";
  }
  parameters.machine = request.machine ? request.machine->id : "";
  parameters.trained_rows = static_cast<std::int64_t>(rows.size());
  parameters.parameters[model::kCollectiveGroups] = groups;
  parameters.conformal = model::conformal_json(model::ConformalTable(std::move(scores)));
  result.file_text = read::parameters_text(parameters);
  return result;
}

}  // namespace

FitEntry collective_fit_entry() {
  return {.model = "collective", .settings = {}, .needs_machine = false, .fit = fit_collectives};
}

}  // namespace inline_prof::fit
