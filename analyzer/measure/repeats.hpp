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
  // Holds the true median 19 times out of 20 (normal approximation of the binomial ranks); of fewer
  // than 6 values the extremes, which hold it less often.
  double lower = 0;
  double upper = 0;
};

// Throws std::invalid_argument if there are no values.
[[nodiscard]] MedianOfRepeats median_of(std::vector<double> values);

[[nodiscard]] bool is_enough(const std::vector<double>& values, const RepeatLimits& limits);

}  // namespace inline_prof::measure
