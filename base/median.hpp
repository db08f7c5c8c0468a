#pragma once

#include <optional>
#include <vector>

namespace inline_prof::base {

struct MedianEstimate {
  double median = 0;
  double lower = 0;  // the interval holds the true median with 95 % at least
  double upper = 0;

  // Half the width of the interval over the median; infinite for a median of 0.
  [[nodiscard]] double relative_half_width() const;
};

inline constexpr std::size_t kFewestForInterval = 6;

// The order statistics l and n+1-l (counted from 1) with the largest l for which P(B < l) <= 2.5 %,
// B binomial with n trials of probability 1/2: no assumption on the distribution of the values.
// Empty for fewer than kFewestForInterval values: P(B < 1) = 2^-5 = 3.1 % for five.
// Source: H. A. David, H. N. Nagaraja, "Order Statistics", 3rd ed., Wiley, 2003, section 7.1.
[[nodiscard]] std::optional<MedianEstimate> estimate_median(std::vector<double> values);

}  // namespace inline_prof::base
