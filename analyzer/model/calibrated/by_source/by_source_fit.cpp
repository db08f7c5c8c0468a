#include "fit/calibrated_fit.hpp"
#include "fit/measured_rows.hpp"
#include "model/calibrated/by_source/by_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

namespace inline_prof::fit {
namespace {

using Eigen::Index;
using model::SourceForm;

constexpr Index kFoldsOfASize = 4;
// Fewer rows say nothing about the form's parameters.
constexpr std::size_t kLeastRows = 40;
// A file has a dozen groups: enough points for what the form leaves, a few scores for the interval.
constexpr Index kMostGroupPoints = 120, kRowsOfAPoint = 4, kLeastGroupPoints = 16;
constexpr std::size_t kMostGroupScores = 99;

// The rows of one source and set of types.
struct Group {
  std::vector<model::Sizes> sizes = {};
  std::vector<double> log_measured = {};
};

std::map<std::string, Group> groups_of(const SourceForm& form, const MeasuredRows& rows) {
  std::map<std::string, Group> groups;
  for (const MeasuredRow& row : rows) {
    Group& group = groups[model::source_group(form, row.cells())];
    group.sizes.push_back(model::source_sizes(form, row.cells()));
    group.log_measured.push_back(std::log(row.time_us));
  }
  return groups;
}

CalibratedProblem problem_of(const SourceForm& form, const read::Machine& machine,
                             const Group& group, std::size_t variant) {
  CalibratedProblem problem;
  problem.specs.assign(form.specs.begin(), form.specs.end());
  problem.restarts = 0;
  const auto count = static_cast<Index>(group.sizes.size());
  problem.most_points = std::clamp(count / kRowsOfAPoint, kLeastGroupPoints, kMostGroupPoints);
  problem.log_measured = group.log_measured;
  problem.points = group.sizes;
  problem.features = of_each(group.sizes, form.features);
  for (const std::size_t size : form.fold_sizes) {
    Eigen::VectorXd keys(count);
    for (Index i = 0; i < count; ++i)
      keys[i] = group.sizes[static_cast<std::size_t>(i)][size];
    std::ranges::move(folds_by_key(keys, kFoldsOfASize), std::back_inserter(problem.folds));
  }
  problem.times = [&form, &machine, &group, variant](std::span<const double> values) {
    return of_each(group.sizes, [&](const model::Sizes& sizes) {
      return RowTime{form.time(sizes, machine, values, variant).time_us};
    });
  };
  return problem;
}

// Returns one group as a member of the file.
nlohmann::json fit_group(const SourceForm& form, const std::string& name, const Group& group,
                         const FitRequest& request, std::string& summary) {
  CalibratedProblem best = problem_of(form, *request.machine, group, 0);
  std::size_t variant = 0;
  double least = form.variants == 1 ? 0 : analytic_cost(best);
  for (std::size_t other = 1; other < form.variants; ++other) {
    CalibratedProblem problem = problem_of(form, *request.machine, group, other);
    const double cost = analytic_cost(problem);
    if (cost >= least) continue;
    least = cost;
    variant = other;
    best = std::move(problem);
  }
  read::Parameters own;
  own.model = form.model;
  summary += fmt::format("{}, way {}: {}", name, variant, fit_calibrated(best, request, own));
  std::vector<double> scores = model::read_conformal(own).scores().at(model::ConformalTable::kAll);
  if (scores.size() > kMostGroupScores) {
    std::vector<double> kept;
    for (std::size_t i = 0; i < kMostGroupScores; ++i)
      kept.push_back(scores[i * (scores.size() - 1) / (kMostGroupScores - 1)]);
    scores = std::move(kept);
  }
  return {{"parameters", own.parameters},
          {"residual", own.residual},
          {"conformal", model::conformal_json(model::ConformalTable(
                            {{model::ConformalTable::kAll, std::move(scores)}}))},
          {model::kSourceVariant, variant},
          {"rows", group.sizes.size()}};
}

}  // namespace

FitResult fit_by_source(const SourceForm& form, const FitRequest& request) {
  const MeasuredRows rows(request, form.inputs);
  FitRequest own_request = request;
  own_request.tables.clear();
  read::Parameters parameters;
  parameters.model = form.model;
  parameters.machine = request.machine->id;
  FitResult result;
  nlohmann::json groups = nlohmann::json::object();
  for (const auto& [name, group] : groups_of(form, rows)) {
    if (group.sizes.size() < kLeastRows) {
      result.summary += fmt::format("{}: {} rows are too few\n", name, group.sizes.size());
      continue;
    }
    groups[name] = fit_group(form, name, group, own_request, result.summary);
    parameters.trained_rows += static_cast<std::int64_t>(group.sizes.size());
  }
  if (groups.empty()) rows.require(std::numeric_limits<std::size_t>::max(), "a fit");
  parameters.parameters[model::kSourceGroups] = std::move(groups);
  result.file_text = read::parameters_text(parameters);
  return result;
}

}  // namespace inline_prof::fit
