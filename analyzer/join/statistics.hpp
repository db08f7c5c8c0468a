#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace inline_prof::join {

struct Interval {
  double lower = 0.0;
  double upper = 0.0;
};

// Middle value, or the mean of the two middle ones.  Throws std::invalid_argument if empty.
[[nodiscard]] double median(std::vector<double> values);

[[nodiscard]] double mean(std::span<const double> values);

// The median of `values`, which are put into another order, and the interval that holds the median
// of the distribution behind them with a probability of 95 % at least, whatever that distribution
// is: the order statistics l and n+1-l (counted from 1) with the largest l for which P(B < l)
// <= 2.5 %, B binomial with n trials of probability 1/2.  There is none for fewer than 6 values:
// P(B < 1) = 2^-5 = 3.1 % already, so not even the extremes do.  Throws std::invalid_argument if
// there are no values. Source: H. A. David, H. N. Nagaraja, "Order Statistics", 3rd ed., Wiley,
// 2003, section 7.1.
struct MedianAndInterval {
  double median = 0.0;
  std::optional<Interval> ci95;
};
[[nodiscard]] MedianAndInterval median_and_interval95(std::span<double> values);
[[nodiscard]] MedianAndInterval median_and_interval95(std::span<float> values);

// How far the values lie from their median, and how many of them much further.  Unlike a standard
// deviation neither is moved by a few wild values, however wild.
struct Spread {
  double mad = 0.0;          // median of |value - median|
  std::size_t outliers = 0;  // values further than kOutlierMads * mad from the median
};

// 5 mad are 3.4 standard deviations of a normal distribution (mad = 0.6745 sigma): 1 value in 1340
// of such a one.
inline constexpr double kOutlierMads = 5.0;

// Empty for fewer than 3 values: the mad of two is half their distance, so neither can stand out.
// Source: F. R. Hampel, "The influence curve and its role in robust estimation", Journal of the
// American Statistical Association 69(346), 1974, doi:10.1080/01621459.1974.10482962.
[[nodiscard]] std::optional<Spread> median_spread(const std::vector<double>& values);

// The same three of values in ascending order: one sorting serves them all.
[[nodiscard]] double median_of_sorted(std::span<const double> sorted);
[[nodiscard]] std::optional<Interval> median_interval95_of_sorted(std::span<const double> sorted);
[[nodiscard]] std::optional<Spread> median_spread_of_sorted(std::span<const double> sorted);

// How far predictions are from measured times, with e = predicted / measured - 1:
struct Errors {
  std::size_t rows = 0;
  double mape = 0.0;  // mean of |e|
  double gmae = 0.0;  // geometric mean of |e|; an |e| below 1e-6 counts as 1e-6, for its logarithm
  double bias = 0.0;  // mean of e: negative if predictions are too short
  double median_ratio = 0.0;  // median of measured / predicted
};

// Source of GMAE as a measure for kernel models: Z. Lin, L. Feng, E. K. Ardestani, J. Lee, J.
// Lundell, C. Kim, A. Kejariwal, J. D. Owens, "Building a Performance Model for Deep Learning
// Recommendation Model Training on GPUs", HiPC 2022, arXiv:2201.07821.  It is always the smaller of
// the two. Pairs without a positive measured time are left out.  Empty if no pair is left.
struct PredictedAndMeasured {
  double predicted = 0.0;
  double measured = 0.0;
};
[[nodiscard]] std::optional<Errors> prediction_errors(std::span<const PredictedAndMeasured> pairs);

}  // namespace inline_prof::join
