#include "base/median.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace inline_prof::base {

double MedianEstimate::relative_half_width() const {
  if (!(median > 0)) return std::numeric_limits<double>::infinity();
  return (upper - lower) / 2 / median;
}

std::optional<MedianEstimate> estimate_median(std::vector<double> values) {
  const std::size_t n = values.size();
  if (n < kFewestForInterval) return std::nullopt;
  std::sort(values.begin(), values.end());
  const double middle = (values[(n - 1) / 2] + values[n / 2]) / 2;

  // P(B = 0) underflows for a thousand values, so its logarithm is carried along.
  constexpr double most = 0.025;
  double log_probability = -static_cast<double>(n) * std::log(2.0);  // of B = `below`
  double sum = 0;                                                    // P(B <= below)
  std::size_t below = 0;
  while (true) {
    sum += std::exp(log_probability);
    if (sum > most) break;
    log_probability += std::log(static_cast<double>(n - below) / static_cast<double>(below + 1));
    ++below;
  }
  // P(B < below) <= 2.5 % for `below` values on each side; kFewestForInterval makes it 1 at least.
  return MedianEstimate{.median = middle, .lower = values[below - 1], .upper = values[n - below]};
}

}  // namespace inline_prof::base
