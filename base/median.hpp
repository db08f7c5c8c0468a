// Medians, and the project's 95 % interval of a median.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace inline_prof::base {

struct Interval {
  double lower = 0.0;
  double upper = 0.0;
};

// Returns l, or 0 for fewer than kFewestForInterval values. The order statistics l and n+1-l
// (counted from 1) with the largest l for which P(B < l) <= 2.5 %, B binomial with n trials of
// probability 1/2, hold the median of the distribution behind n values with a probability of 95 %
// at least, whatever that distribution is. P(B < 1) = 2^-5 = 3.1 % for five values, so not even the
// extremes do. Source: H. A. David, H. N. Nagaraja, "Order Statistics", 3rd ed., Wiley, 2003,
// section 7.1.
[[nodiscard]] std::size_t interval95_rank(std::size_t count);
inline constexpr std::size_t kFewestForInterval = 6;

// Returns the middle value, or the mean of the two middle ones. Throws std::invalid_argument if
// empty.
[[nodiscard]] double median(std::vector<double> values);
// Does the same, and reorders the values.
[[nodiscard]] double median_in_place(std::span<double> values);

// Median and interval; the values are put into another order.  Throws std::invalid_argument if
// there are none.
struct MedianAndInterval {
  double median = 0.0;
  std::optional<Interval> ci95;  // empty for fewer than kFewestForInterval values

  // Half the width of the interval over the median; infinite without an interval, and for a median
  // that is not positive.
  [[nodiscard]] double relative_half_width() const;
};
[[nodiscard]] MedianAndInterval median_and_interval95(std::span<double> values);
[[nodiscard]] MedianAndInterval median_and_interval95(std::span<float> values);

// The spread of values: how far they lie from their median, and how many much further. Unlike a
// standard deviation neither is moved by a few wild values.
struct Spread {
  double mad = 0.0;          // median of |value - median|
  std::size_t outliers = 0;  // values further than kOutlierMads * mad from the median
};

// 5 mad are 3.4 standard deviations of a normal distribution (mad = 0.6745 sigma): 1 value in 1340
// of such a one.
inline constexpr double kOutlierMads = 5.0;

// Returns nothing for fewer than 3 values: the mad of two is half their distance, so neither can
// stand out. Source: F. R. Hampel, "The influence curve and its role in robust estimation", Journal
// of the American Statistical Association 69(346), 1974, doi:10.1080/01621459.1974.10482962.
[[nodiscard]] std::optional<Spread> median_spread(const std::vector<double>& values);

// These do the same for values in ascending order: one sorting serves them all.
[[nodiscard]] double median_of_sorted(std::span<const double> sorted);
[[nodiscard]] std::optional<Interval> median_interval95_of_sorted(std::span<const double> sorted);
[[nodiscard]] std::optional<Spread> median_spread_of_sorted(std::span<const double> sorted);

}  // namespace inline_prof::base
