#include "fit/gemm_fit.hpp"

#include "fit/improved_fit.hpp"
#include "fit/measured_rows.hpp"
#include "model/improved/gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace inline_prof::fit {
namespace {

using Eigen::Index;
using model::ColumnKind;

enum Input : std::size_t { kM, kN, kK, kBatch, kAType };

constexpr std::array<model::Column, 5> kInputs{{
    {"m", "", ColumnKind::kInteger, 1, 1 << 24, true, "rows of C"},
    {"n", "", ColumnKind::kInteger, 1, 1 << 24, true, "columns of C"},
    {"k", "", ColumnKind::kInteger, 1, 1 << 24, true, "columns of A, rows of B"},
    {"batch", "", ColumnKind::kInteger, 1, 1 << 24, false, "products in one call; 1 if absent"},
    {"a_type", "", ColumnKind::kText, 0, 0, true, "type of A and B"},
}};

constexpr Index kFoldsOfAKey = 4;
constexpr double kLongest = 0.9;  // the share of rows below the longest, which are a fold

model::GemmShape shape_of(const MeasuredRow& row) {
  const double batch = row.numbers[kBatch];
  return {row.numbers[kM], row.numbers[kN], row.numbers[kK], std::isnan(batch) ? 1 : batch};
}

// Whole widths, row counts and depths, and the longest: what a fit is asked for is seldom next to
// what it has seen.
std::vector<std::vector<Index>> folds_of(const std::vector<model::GemmShape>& shapes,
                                         const Eigen::VectorXd& log_measured) {
  const auto count = static_cast<Index>(shapes.size());
  std::vector<std::vector<Index>> folds;
  for (const auto side : {&model::GemmShape::n, &model::GemmShape::m, &model::GemmShape::k}) {
    Eigen::VectorXd keys(count);
    for (Index i = 0; i < count; ++i)
      keys[i] = shapes[static_cast<std::size_t>(i)].*side;
    for (auto& fold : folds_by_key(keys, kFoldsOfAKey))
      folds.push_back(std::move(fold));
  }
  std::vector<Index> by_time(static_cast<std::size_t>(count));
  std::iota(by_time.begin(), by_time.end(), Index{0});
  std::stable_sort(by_time.begin(), by_time.end(),
                   [&](Index a, Index b) { return log_measured[a] < log_measured[b]; });
  folds.emplace_back(
      by_time.begin() + static_cast<std::ptrdiff_t>(kLongest * static_cast<double>(count)),
      by_time.end());
  return folds;
}

struct Choice {
  model::GemmTypes types;
  bool with_quantise = false;
};

Choice choose(const FitRequest& request) {
  Choice choice;
  const std::string name = setting(request, "a_type", "");
  if (name.empty()) throw std::invalid_argument("--set a_type=TYPE: which type was multiplied?");
  const auto types = model::gemm_types(name);
  if (!types) throw std::invalid_argument(fmt::format("--set a_type={}: unknown type", name));
  choice.types = *types;
  if (request.boundary == model::kGemmQuantiseBoundary) {
    choice.with_quantise = true;
  } else if (!request.boundary.empty() && request.boundary != model::kGemmBoundary) {
    throw std::invalid_argument(fmt::format("--boundary {}: expected {} or {}", request.boundary,
                                            model::kGemmBoundary, model::kGemmQuantiseBoundary));
  }
  return choice;
}

FitResult fit_gemm(const FitRequest& request) {
  const Choice choice = choose(request);
  const auto machine = model::gemm_machine(*request.machine, choice.types);
  const MeasuredRows rows(request, kInputs, [&](const MeasuredRow& row) {
    return row.texts[kAType] == choice.types.name;
  });
  const auto specs = model::GemmAnalytic::parameters(choice.with_quantise);
  rows.require(specs.size(), fmt::format("a fit of {} parameters", specs.size()));
  for (const Input input : {kM, kN, kK})
    rows.require_variety(input);

  std::vector<model::GemmShape> shapes;
  ImprovedProblem problem;
  const auto count = static_cast<Index>(rows.size());
  problem.log_measured.resize(count);
  problem.features.resize(count, 6);
  for (Index i = 0; i < count; ++i) {
    const MeasuredRow& row = rows[static_cast<std::size_t>(i)];
    const model::GemmShape shape = shape_of(row);
    shapes.push_back(shape);
    problem.log_measured[i] = std::log(row.time_us);
    problem.features.row(i) = model::gemm_features(shape, machine).transpose();
    problem.points.push_back({shape.m, shape.n, shape.k, shape.batch});
  }
  problem.specs.assign(specs.begin(), specs.end());
  problem.folds = folds_of(shapes, problem.log_measured);
  problem.log_times = [&](std::span<const double> values) {
    const model::GemmAnalytic analytic(machine, choice.types, choice.with_quantise, values);
    Eigen::VectorXd log_times(count);
    for (Index i = 0; i < count; ++i)
      log_times[i] = std::log(analytic.predict(shapes[static_cast<std::size_t>(i)]).time_us);
    return log_times;
  };
  problem.regimes = [&](std::span<const double> values) {
    const model::GemmAnalytic analytic(machine, choice.types, choice.with_quantise, values);
    std::vector<std::string> regimes;
    for (const auto& shape : shapes)
      regimes.emplace_back(analytic.predict(shape).bound);
    return regimes;
  };

  read::Parameters parameters;
  parameters.model = "gemm";
  parameters.machine = request.machine->id;
  parameters.key = {
      {"a_type", choice.types.name},
      {"boundary", choice.with_quantise ? model::kGemmQuantiseBoundary : model::kGemmBoundary}};
  const std::string library = setting(request, "library", "");
  if (!library.empty()) parameters.key["library"] = library;
  parameters.parameters["sm_count"] = machine.sm_count;
  rows.describe(parameters);
  FitResult result;
  result.summary = fit_improved(problem, request, parameters);
  result.file_text = read::parameters_text(parameters);
  return result;
}

}  // namespace

FitEntry gemm_fit_entry() {
  return {
      .model = "gemm",
      .settings = {{"a_type", "", "type of A and B; rows of another type are left out"},
                   {"library", "", "which library was timed, e.g. cublas 13.1; kept in the file"}},
      .needs_machine = true,
      .fit = fit_gemm};
}

}  // namespace inline_prof::fit
