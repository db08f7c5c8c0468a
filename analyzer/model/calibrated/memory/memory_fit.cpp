#include "fit/calibrated_fit.hpp"
#include "fit/measured_rows.hpp"
#include "model/calibrated/memory/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace inline_prof::fit {
namespace {

using Eigen::Index;
using model::ColumnKind;

enum Input : std::size_t { kReadBytes, kWriteBytes };

constexpr std::array<model::Column, 2> kInputs{{
    {"read_bytes", "bytes", ColumnKind::kNumber, 1, 1e15, true, "read by the kernel"},
    {"write_bytes", "bytes", ColumnKind::kNumber, 1, 1e15, true, "written by the kernel"},
}};

constexpr Index kSizeFolds = 5;

FitResult fit_memory(const FitRequest& request) {
  const auto machine = model::memory_machine(*request.machine);
  const MeasuredRows rows(request, kInputs);
  const auto specs = model::MemoryAnalytic::parameters();
  rows.require(std::max<std::size_t>(specs.size(), kLeastCalibrationRows),
               fmt::format("a fit of {} parameters", specs.size()));
  rows.require_variety(kReadBytes);

  CalibratedProblem problem;
  problem.specs.assign(specs.begin(), specs.end());
  const auto count = static_cast<Index>(rows.size());
  problem.log_measured.resize(count);
  problem.features.resize(count, 2);
  std::vector<double> bytes;
  std::vector<BoundedRow> bounded;
  for (Index i = 0; i < count; ++i) {
    const MeasuredRow& row = rows[static_cast<std::size_t>(i)];
    const double read_bytes = row.numbers[kReadBytes], write_bytes = row.numbers[kWriteBytes];
    bytes.push_back(read_bytes + write_bytes);
    bounded.push_back({&row, bytes.back() / machine.bytes_per_us});
    problem.log_measured[i] = std::log(row.time_us);
    problem.features.row(i) = model::memory_features(read_bytes, write_bytes).transpose();
    problem.points.push_back({read_bytes, write_bytes});
  }
  refuse_another_unit(std::move(bounded));
  // The launch floor is the timer's as much as the GPU's: from 2 us in a graph to 50 us with a host
  // that launches every time.  The least time tells.
  problem.specs.front().start = 0.95 * std::exp(problem.log_measured.minCoeff());
  problem.folds = folds_by_key(problem.features.col(0), kSizeFolds);
  problem.log_times = [&](std::span<const double> values) {
    const model::MemoryAnalytic analytic(machine, values);
    Eigen::VectorXd log_times(count);
    for (Index i = 0; i < count; ++i)
      log_times[i] = std::log(analytic.predict(bytes[static_cast<std::size_t>(i)]).time_us);
    return log_times;
  };

  read::Parameters parameters;
  parameters.model = "memory";
  parameters.machine = request.machine->id;
  parameters.trained_rows = static_cast<std::int64_t>(rows.size());
  FitResult result;
  result.summary = fit_calibrated(problem, request, parameters);
  result.file_text = read::parameters_text(parameters);
  return result;
}

}  // namespace

FitEntry memory_fit_entry() {
  return {.model = "memory", .settings = {}, .needs_machine = true, .fit = fit_memory};
}

}  // namespace inline_prof::fit
