#pragma once

#include <algorithm>
#include <cmath>

namespace inline_prof::model {

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
