#include "measure/repeats.hpp"

#include "base/median.hpp"

#include <algorithm>
#include <stdexcept>

namespace inline_prof::measure {

MedianOfRepeats median_of(std::vector<double> values) {
  if (values.empty()) throw std::invalid_argument("median of no repeats");
  std::sort(values.begin(), values.end());
  const base::Interval interval = base::median_interval95_of_sorted(values).value_or(
      base::Interval{values.front(), values.back()});
  return {
      .median = base::median_of_sorted(values), .lower = interval.lower, .upper = interval.upper};
}

bool is_enough(const std::vector<double>& values, const RepeatLimits& limits) {
  if (values.size() < limits.least) return false;
  if (values.size() >= limits.most) return true;
  const MedianOfRepeats found = median_of(values);
  return found.upper - found.lower <= 2 * limits.precision * found.median;
}

}  // namespace inline_prof::measure
