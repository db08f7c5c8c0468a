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

constexpr std::array<model::Column, 2> kInputs{{
    {"read_bytes", "bytes", ColumnKind::kNumber, 1, 1e15, true, "read by the kernel"},
    {"write_bytes", "bytes", ColumnKind::kNumber, 1, 1e15, true, "written by the kernel"},
}};

constexpr Index kSizeFolds = 5;

FitResult fit_memory(const FitRequest& request) {
  const read::Machine& machine = *request.machine;
  const MeasuredRows rows(request, kInputs);
  const auto specs = model::memory_parameters();
  rows.require(std::max<std::size_t>(specs.size(), kLeastCalibrationRows),
               fmt::format("a fit of {} parameters", specs.size()));
  rows.require_variety("read_bytes");

  CalibratedProblem problem;
  problem.specs.assign(specs.begin(), specs.end());
  Eigen::VectorXd sizes(static_cast<Index>(rows.size()));
  std::vector<double> bytes;
  std::vector<BoundedRow> bounded;
  for (const MeasuredRow& row : rows) {
    const double read_bytes = row.cells().number("read_bytes"),
                 write_bytes = row.cells().number("write_bytes");
    bytes.push_back(read_bytes + write_bytes);
    bounded.push_back({&row, bytes.back() / (machine.memory_gb_per_s * 1e3)});
    problem.log_measured.push_back(std::log(row.time_us));
    problem.features.push_back(model::memory_features(read_bytes, write_bytes));
    problem.points.push_back({read_bytes, write_bytes});
    sizes[static_cast<Index>(bytes.size()) - 1] = problem.features.back()[0];
  }
  refuse_another_unit(std::move(bounded));
  // The launch floor is the timer's as much as the GPU's: from 2 us in a graph to 50 us with a host
  // that launches every time.  The least time tells.
  problem.specs.front().start = 0.95 * std::exp(std::ranges::min(problem.log_measured));
  problem.folds = folds_by_key(sizes, kSizeFolds);
  problem.times = [&](std::span<const double> values) {
    return of_each(bytes, [&](double each) {
      return RowTime{model::memory_time(each, machine, values).time_us};
    });
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
