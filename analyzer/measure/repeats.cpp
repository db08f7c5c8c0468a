#include "measure/repeats.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace inline_prof::measure {

MedianOfRepeats median_of(std::vector<double> values) {
  if (values.empty()) throw std::invalid_argument("median of no repeats");
  std::sort(values.begin(), values.end());
  const std::size_t count = values.size();
  const auto n = static_cast<double>(count);
  const double rank = std::floor((n - 1.96 * std::sqrt(n)) / 2);  // counted from 1
  const std::size_t from_end = rank < 1 ? 0 : static_cast<std::size_t>(rank) - 1;
  return {.median = 0.5 * (values[(count - 1) / 2] + values[count / 2]),
          .lower = values[from_end],
          .upper = values[count - 1 - from_end]};
}

bool is_enough(const std::vector<double>& values, const RepeatLimits& limits) {
  if (values.size() < limits.least) return false;
  if (values.size() >= limits.most) return true;
  const MedianOfRepeats found = median_of(values);
  return found.upper - found.lower <= 2 * limits.precision * found.median;
}

}  // namespace inline_prof::measure
