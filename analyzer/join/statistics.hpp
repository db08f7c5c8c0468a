#pragma once

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

// Interval that holds the median of the distribution behind `values` with a probability of 95 % at
// least, whatever that distribution is: the order statistics l and n+1-l (counted from 1) with the
// largest l for which P(B < l) <= 2.5 %, B binomial with n trials of probability 1/2.
// Empty for fewer than 6 values: P(B < 1) = 2^-5 = 3.1 % already, so not even the extremes do.
// Source: H. A. David, H. N. Nagaraja, "Order Statistics", 3rd ed., Wiley, 2003, section 7.1.
[[nodiscard]] std::optional<Interval> median_interval95(std::vector<double> values);

// How far predictions are from measured times, with e = predicted / measured - 1:
struct Errors {
  std::size_t rows = 0;
  double mape = 0.0;  // mean of |e|
  double gmae = 0.0;  // geometric mean of |e|; an |e| below 1e-6 counts as 1e-6, for its logarithm
  double bias = 0.0;  // mean of e: negative if predictions are too short
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
