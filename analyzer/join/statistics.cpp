#include "join/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace inline_prof::join {
namespace {

// Stands for an |e| of zero in its logarithm.
constexpr double kSmallestError = 1e-6;

// Of the order statistic, counted from 1, at which the interval of a median begins; 0 if there is
// none.
std::size_t find_interval95_rank(std::size_t count) {
  const auto n = static_cast<double>(count);
  // Walks up from P(B < 1) = 2^-n, in logarithms because 2^-n is no double for n > 1074.
  double log_term = -n * std::log(2.0);
  double below = 0.0;
  std::size_t rank = 0;
  for (std::size_t k = 0; k < count; ++k) {
    below += std::exp(log_term);
    if (below > 0.025) break;
    rank = k + 1;
    log_term += std::log((n - static_cast<double>(k)) / (static_cast<double>(k) + 1.0));
  }
  return rank;
}

Spread spread_around(double middle, std::span<const double> values) {
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values)
    distances.push_back(std::abs(value - middle));
  Spread spread;
  spread.mad = median(distances);
  for (const double distance : distances) {
    if (distance > kOutlierMads * spread.mad) ++spread.outliers;
  }
  return spread;
}

// The events of a file mostly have as many samples as the one before.
std::size_t interval95_rank(std::size_t count) {
  static thread_local std::pair<std::size_t, std::size_t> last{0, 0};
  if (last.first != count) last = {count, find_interval95_rank(count)};
  return last.second;
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) throw std::invalid_argument("median of nothing");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return 0.5 * (*std::max_element(values.begin(), middle) + *middle);
}

double mean(std::span<const double> values) {
  if (values.empty()) throw std::invalid_argument("mean of nothing");
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::optional<Interval> median_interval95(std::vector<double> values) {
  const std::size_t rank = interval95_rank(values.size());
  if (rank == 0) return std::nullopt;
  const auto lower = values.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  const auto upper = values.end() - static_cast<std::ptrdiff_t>(rank);
  std::nth_element(values.begin(), lower, values.end());
  const double lower_end = *lower;  // the next line moves it
  std::nth_element(lower, upper, values.end());
  return Interval{lower_end, *upper};
}

std::optional<Spread> median_spread(const std::vector<double>& values) {
  if (values.size() < 3) return std::nullopt;
  return spread_around(median(values), values);
}

double median_of_sorted(std::span<const double> sorted) {
  if (sorted.empty()) throw std::invalid_argument("median of nothing");
  const std::size_t middle = sorted.size() / 2;
  if (sorted.size() % 2 == 1) return sorted[middle];
  return 0.5 * (sorted[middle - 1] + sorted[middle]);
}

std::optional<Interval> median_interval95_of_sorted(std::span<const double> sorted) {
  const std::size_t rank = interval95_rank(sorted.size());
  if (rank == 0) return std::nullopt;
  return Interval{sorted[rank - 1], sorted[sorted.size() - rank]};
}

std::optional<Spread> median_spread_of_sorted(std::span<const double> sorted) {
  if (sorted.size() < 3) return std::nullopt;
  return spread_around(median_of_sorted(sorted), sorted);
}

std::optional<Errors> prediction_errors(std::span<const PredictedAndMeasured> pairs) {
  Errors errors;
  double sum_of_logs = 0.0;
  std::vector<double> ratios;
  for (const auto& [predicted, measured] : pairs) {
    if (!(measured > 0)) continue;
    const double error = predicted / measured - 1.0;
    ++errors.rows;
    errors.mape += std::abs(error);
    errors.bias += error;
    ratios.push_back(measured / predicted);
    sum_of_logs += std::log(std::max(std::abs(error), kSmallestError));
  }
  if (errors.rows == 0) return std::nullopt;
  const auto rows = static_cast<double>(errors.rows);
  errors.mape /= rows;
  errors.bias /= rows;
  errors.median_ratio = median(std::move(ratios));
  errors.gmae = std::exp(sum_of_logs / rows);
  return errors;
}

}  // namespace inline_prof::join
