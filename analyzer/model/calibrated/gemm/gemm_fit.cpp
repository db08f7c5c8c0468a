#include "fit/calibrated_fit.hpp"
#include "fit/measured_rows.hpp"
#include "model/calibrated/gemm/gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

namespace inline_prof::fit {
namespace {

using Eigen::Index;
using model::ColumnKind;

constexpr std::array<model::Column, 9> kInputs{{
    {"m", "", ColumnKind::kInteger, 1, 1 << 24, true, "rows of C"},
    {"n", "", ColumnKind::kInteger, 1, 1 << 24, true, "columns of C"},
    {"k", "", ColumnKind::kInteger, 1, 1 << 24, true, "columns of A, rows of B"},
    {"batch", "", ColumnKind::kInteger, 1, 1 << 24, false, "products in one call; 1 if absent"},
    {"a_type", "", ColumnKind::kText, 0, 0, true, "type of A and B"},
    {"kernel_name", "", ColumnKind::kText, 0, 0, false, "of the kernel that multiplies"},
    {"blocks", "", ColumnKind::kInteger, 1, 1e12, false, "that it was launched with"},
    {"load", "", ColumnKind::kText, 0, 0, false, "sustained; burst if absent"},
    {"stack", "", ColumnKind::kText, 0, 0, false,
     "software stack; fitted together, held out alone"},
}};

constexpr Index kFoldsOfAKey = 4;
// A point holds its kernel, too, and a file is to stay below 64 KiB.
constexpr Index kMostKernelPoints = 320;
// Above the data sheet's peak there is a boost of a tenth, not a factor.
constexpr double kFasterThanAnyBoost = 2;
constexpr double kLongest = 0.9;  // the share of rows below the longest, which are a fold

model::GemmShape shape_of(const MeasuredRow& row) {
  const model::Row cells = row.cells();
  return {cells.number("m"), cells.number("n"), cells.number("k"), cells.number("batch", 1)};
}

// Whole widths, row counts and depths, and the longest: what a fit is asked for is seldom next to
// what it has seen.  The longest are the last fold.
std::vector<std::vector<Index>> folds_of(const std::vector<model::GemmShape>& shapes,
                                         const std::vector<double>& log_measured) {
  const auto count = static_cast<Index>(shapes.size());
  std::vector<std::vector<Index>> folds;
  for (const auto side : {&model::GemmShape::n, &model::GemmShape::m, &model::GemmShape::k}) {
    Eigen::VectorXd keys(count);
    for (Index i = 0; i < count; ++i)
      keys[i] = shapes[static_cast<std::size_t>(i)].*side;
    std::ranges::move(folds_by_key(keys, kFoldsOfAKey), std::back_inserter(folds));
  }
  std::vector<Index> by_time(static_cast<std::size_t>(count));
  std::iota(by_time.begin(), by_time.end(), Index{0});
  std::ranges::stable_sort(by_time, {},
                           [&](Index row) { return log_measured[static_cast<std::size_t>(row)]; });
  folds.emplace_back(
      by_time.begin() + static_cast<std::ptrdiff_t>(kLongest * static_cast<double>(count)),
      by_time.end());
  return folds;
}

struct Choice {
  model::GemmTypes types;
  bool with_quantise = false;
  bool knows_kernels = false;
  bool is_sustained = false;
  std::string kernels;
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
  choice.knows_kernels = setting(request, "kernel", "unknown", {"known", "unknown"}) == "known";
  choice.is_sustained = setting(request, "load", "burst", {"burst", "sustained"}) == "sustained";
  choice.kernels = setting(request, "kernels", "", {model::kCutlassKernels});
  return choice;
}

// Throws read::InputError for a table in another unit, and for the first row that no GPU of this
// kind can be that fast on.
void refuse_the_impossible(const MeasuredRows& rows, const model::GemmTypes& types,
                           const model::GemmMachine& machine) {
  std::vector<BoundedRow> bounded;
  for (const MeasuredRow& row : rows) {
    const model::GemmShape shape = shape_of(row);
    const double at_peak_us = 2 * shape.m * shape.n * shape.k * shape.batch / machine.flops_per_us;
    const double bytes = types.operand_bytes * (shape.m + shape.n) * shape.k +
                         types.output_bytes * shape.m * shape.n;
    bounded.push_back({&row, std::max(at_peak_us, bytes * shape.batch / machine.bytes_per_us)});
    if (row.time_us * kFasterThanAnyBoost >= at_peak_us) continue;
    throw read::InputError(
        fmt::format("{}, column time_us: {} us is {:.3g} times faster than the machine's peak: "
                    "another unit, type or GPU?",
                    row.place, row.time_us, at_peak_us / row.time_us));
  }
  refuse_another_unit(std::move(bounded));
}

// Empty where the row does not say, or its blocks do not bear its name out.
std::optional<model::GemmKernel> kernel_of(const MeasuredRow& row) {
  if (!row.cells().has("blocks")) return std::nullopt;
  return model::gemm_kernel(row.cells().text("kernel_name"), shape_of(row),
                            row.cells().number("blocks"));
}

// Returns the names of the rows' stacks in their order.
std::vector<std::string> stacks_of(const MeasuredRows& rows) {
  std::set<std::string> names;
  for (const MeasuredRow& row : rows)
    names.insert(row.cells().text("stack"));
  return {names.begin(), names.end()};
}

FitResult fit_gemm(const FitRequest& request) {
  const Choice choice = choose(request);
  auto machine = model::gemm_machine(*request.machine, choice.types);
  machine.has_tiles_by_rows = !choice.kernels.empty();
  const MeasuredRows rows(request, kInputs, [&](const MeasuredRow& row) {
    if (choice.knows_kernels && !kernel_of(row)) return false;
    if ((row.cells().text("load") == "sustained") != choice.is_sustained) return false;
    return row.cells().text("a_type") == choice.types.name;
  });
  const auto specs = model::GemmAnalytic::starts(machine, choice.with_quantise);
  rows.require(specs.size(),
               fmt::format("a fit of {} parameters to {} under {} load", specs.size(),
                           choice.types.name, choice.is_sustained ? "sustained" : "burst"));
  for (const char* size : {"m", "n", "k"})
    rows.require_variety(size);

  refuse_the_impossible(rows, choice.types, machine);

  std::vector<model::GemmShape> shapes;
  std::vector<std::optional<model::GemmKernel>> kernels;
  CalibratedProblem problem;
  std::vector<std::string> stacks = stacks_of(rows);
  std::string only_stack;
  if (stacks.size() == 1) {
    only_stack = stacks.front();
    stacks.clear();
  }
  problem.stack_names = stacks;
  problem.stacks.resize(stacks.size());
  std::vector<model::GemmStack> stack_of_row;
  for (Index i = 0; const MeasuredRow& row : rows) {
    const model::GemmShape shape = shape_of(row);
    shapes.push_back(shape);
    kernels.push_back(choice.knows_kernels ? kernel_of(row) : std::nullopt);
    const auto& kernel = kernels.back();
    problem.log_measured.push_back(std::log(row.time_us));
    problem.points.push_back({shape.m, shape.n, shape.k, shape.batch});
    if (kernel) {
      auto& point = problem.points.back();
      point.insert(point.end(), {kernel->tile_m, kernel->tile_n, kernel->splits});
    }
    const auto stack =
        std::find(stacks.begin(), stacks.end(), row.cells().text("stack")) - stacks.begin();
    stack_of_row.push_back(
        {.number = stacks.empty() ? 0 : stack + 1, .count = static_cast<Index>(stacks.size())});
    if (stacks.empty()) continue;
    problem.points.back().push_back(static_cast<double>(stack + 1));
    problem.stacks[static_cast<std::size_t>(stack)].push_back(i++);
  }
  problem.specs = specs;
  problem.folds = folds_of(shapes, problem.log_measured);
  problem.longest_fold = problem.folds.size() - 1;
  const auto time_of = [&](const model::GemmAnalytic& analytic, std::size_t i) {
    return kernels[i] ? analytic.predict(shapes[i], *kernels[i]) : analytic.predict(shapes[i]);
  };
  // The search asks for the times with some parameters, and then for derivatives around them.
  std::vector<double> last_values;
  std::vector<model::GemmTime> last_times;
  const auto times_with = [&](std::span<const double> values) {
    if (std::ranges::equal(values, last_values)) return last_times;
    const model::GemmAnalytic analytic(machine, choice.types, choice.with_quantise, values);
    last_values.assign(values.begin(), values.end());
    last_times.clear();
    for (std::size_t i = 0; i < shapes.size(); ++i)
      last_times.push_back(time_of(analytic, i));
    return last_times;
  };
  problem.features_with = [&](std::span<const double> values) {
    const auto times = times_with(values);
    const Index taken = model::gemm_feature_count(machine);
    std::vector<Eigen::VectorXd> features;
    features.reserve(shapes.size());
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      features.push_back(model::gemm_features(shapes[i], machine, times[i], choice.knows_kernels,
                                              taken, stack_of_row[i]));
    }
    return features;
  };
  problem.times = [&](std::span<const double> values) {
    return of_each(times_with(values), [](const model::GemmTime& time) {
      return RowTime{time.time_us, time.bound};
    });
  };
  problem.times_near = [&](std::span<const double> near) -> RowTimes {
    return [&, best = times_with(near)](std::span<const double> values) {
      const model::GemmAnalytic analytic(machine, choice.types, choice.with_quantise, values);
      std::vector<RowTime> times;
      times.reserve(shapes.size());
      for (std::size_t i = 0; i < shapes.size(); ++i)
        times.push_back({analytic.predict_as(shapes[i], best[i]).time_us});
      return times;
    };
  };
  if (choice.knows_kernels) problem.most_points = kMostKernelPoints;
  // With the kernel known, what is left is its bound's: no choice of the library's is a riddle.
  problem.has_regimes = choice.knows_kernels;

  read::Parameters parameters;
  parameters.model = "gemm";
  parameters.machine = request.machine->id;
  parameters.key = {
      {"a_type", choice.types.name},
      {"boundary", choice.with_quantise ? model::kGemmQuantiseBoundary : model::kGemmBoundary}};
  if (choice.knows_kernels) parameters.key["kernel"] = "known";
  if (choice.is_sustained) parameters.key["load"] = "sustained";
  if (!choice.kernels.empty()) parameters.key["kernels"] = choice.kernels;
  if (!only_stack.empty()) parameters.key[model::kOnlyStack] = only_stack;
  const std::string library = setting(request, "library", "");
  if (!library.empty()) parameters.key["library"] = library;
  parameters.parameters["sm_count"] = machine.sm_count;
  parameters.trained_rows = static_cast<std::int64_t>(rows.size());
  FitResult result;
  result.summary = fit_calibrated(problem, request, parameters);
  result.file_text = read::parameters_text(parameters);
  return result;
}

}  // namespace

FitEntry gemm_fit_entry() {
  return {
      .model = "gemm",
      .settings = {{"a_type", "", "type of A and B; rows of another type are left out"},
                   {"library", "", "which library was timed, e.g. cublas 13.1; kept in the file"},
                   {"load", "burst",
                    "sustained: the rows that measure --load sustained has timed; the others are "
                    "left out"},
                   {"kernels", "",
                    "cutlass: 8-bit products of CUTLASS on Hopper, whose tile "
                    "follows from the rows of C"},
                   {"kernel", "unknown",
                    "known: the rows have kernel_name and blocks, and so will those to be "
                    "predicted; rows whose blocks do not bear out the name's tile are left out"}},
      .needs_machine = true,
      .fit = fit_gemm};
}

}  // namespace inline_prof::fit
