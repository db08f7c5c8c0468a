// When a case has been repeated often enough.
#pragma once

#include <cstddef>
#include <vector>

namespace inline_prof::measure {

struct RepeatLimits {
  std::size_t least = 5;
  std::size_t most = 100;
  double precision = 0.01;  // half the interval of the median, as a part of the median
};

struct MedianOfRepeats {
  double median = 0;
  // The interval of base/median.hpp; of fewer than 6 values the extremes, which hold the true
  // median less often than 95 times out of 100.
  double lower = 0;
  double upper = 0;
};

// Throws std::invalid_argument if there are no values.
[[nodiscard]] MedianOfRepeats median_of(std::vector<double> values);

[[nodiscard]] bool is_enough(const std::vector<double>& values, const RepeatLimits& limits);

}  // namespace inline_prof::measure
