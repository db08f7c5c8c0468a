#pragma once

#include "base/median.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace inline_prof::join {

using base::Interval;
using base::kOutlierMads;
using base::median;
using base::median_and_interval95;
using base::median_in_place;
using base::median_interval95_of_sorted;
using base::median_of_sorted;
using base::median_spread;
using base::median_spread_of_sorted;
using base::MedianAndInterval;
using base::Spread;

[[nodiscard]] double mean(std::span<const double> values);

// Returns half the interval in per cent of `value`; empty if one of the two is empty, or the value
// is not above 0.
[[nodiscard]] std::optional<double> half_width_percent(const std::optional<double>& value,
                                                       const std::optional<Interval>& interval);

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

// The time of an iteration, the same one for everything that speaks of it.

// Every report, gate, comparison and table of the dataset takes its time from here.
struct Iteration {
  std::optional<double> us;  // empty: not known, or 0, of which nothing is a share
  std::optional<Interval> ci95_us;
};

// Returns the median of one run's iterations.
[[nodiscard]] Iteration iteration_of(std::span<const double> times_ms);

// Returns the mean over devices.  Ranks of one run are slow together, so the ends of their
// intervals are averaged, too.  Empty if it is not known of one of them.
[[nodiscard]] Iteration mean_iteration(const std::vector<Iteration>& of_devices);

}  // namespace inline_prof::join
