// Shared by the analytic models: how their parameters are described, and how times overlap.
#pragma once

#include <algorithm>
#include <cmath>
#include <string_view>

namespace inline_prof::model {

// A parameter of a calibrated model: always greater than 0, and fitted as its logarithm.
struct ParameterSpec {
  std::string_view name;  // with its unit, as parameter files spell it
  double start = 1.0;     // what is assumed without a measurement
  double weight = 0.1;    // of this start in a fit: residuals a factor of e away from it
  double least = 0.05;    // of the start: how far a fit may go
  double most = 20.0;     // of the start
  std::string_view meaning;
  std::string_view told_by = {};  // what would have to be measured for it
};

// (a^p + b^p + c^p)^(1/p): the largest of three times >= 0 that overlap the better, the higher p
// is; with p = 1 their sum.  Scaled by the largest, so that no power overflows.
[[nodiscard]] inline double power_sum(double p, double a, double b, double c) {
  const double largest = std::max({a, b, c});
  if (!(largest > 0)) return largest;
  return largest *
         std::pow(std::pow(a / largest, p) + std::pow(b / largest, p) + std::pow(c / largest, p),
                  1 / p);
}

}  // namespace inline_prof::model
