// What there is to see of a model: measured against predicted, its errors, a collective's curve.
#pragma once

#include "base/error_metrics.hpp"
#include "report/plot/chart.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace inline_prof::report {

// A dot for each row, the diagonal, and 10 % to either side of it.
[[nodiscard]] Chart scatter_chart(std::span<const base::Judged> rows, const std::string& title);

// How many rows have which error, in percent of the measured time; what lies beyond +-100 % stands
// in the outermost bars.
[[nodiscard]] Chart error_chart(std::span<const base::Judged> rows, const std::string& title);

// A curve over message sizes, as measured and as a model has it.
struct SizeCurve {
  std::string name;
  double bus_factor = 1.0;
  std::vector<Point> measured;   // bytes, microseconds
  std::vector<Point> predicted;  // the same, densely
  std::vector<Point> lower;      // ends of the 90 % interval, if the model has one
  std::vector<Point> upper;
  std::optional<double> linear_until;    // bytes: the turning points, if the model has any
  std::optional<double> saturated_from;  // bytes
};

// Latency, and bandwidths (bytes / time, and that times the factor), both over the size.
[[nodiscard]] std::vector<Chart> curve_charts(const SizeCurve& curve);

}  // namespace inline_prof::report
