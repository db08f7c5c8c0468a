#include "base/error_metrics.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace inline_prof::base {
namespace {

// Stands for an |e| of zero in its logarithm.
constexpr double kSmallestError = 1e-6;
// The DLRM models add this to an |e|.
constexpr double kOriginalEpsilon = 4e-4;

std::optional<double> sample_deviation(std::span<const double> values) {
  if (values.size() < 2) return std::nullopt;
  const auto count = static_cast<double>(values.size());
  double mean = 0.0;
  for (const double value : values)
    mean += value / count;
  double squares = 0.0;
  for (const double value : values)
    squares += (value - mean) * (value - mean);
  return std::sqrt(squares / (count - 1));
}

}  // namespace

double quantile(std::vector<double> values, double q) {
  if (values.empty()) throw std::invalid_argument("quantile of nothing");
  std::ranges::sort(values);
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  if (below + 1 >= values.size()) return values.back();
  // From the nearer end, as numpy does: the last bit decides whether a value on the edge stays.
  const double fraction = place - static_cast<double>(below);
  const double difference = values[below + 1] - values[below];
  if (fraction >= 0.5) return values[below + 1] - difference * (1 - fraction);
  return values[below] + difference * fraction;
}

std::optional<OriginalErrors> original_errors(std::span<const Judged> rows) {
  if (rows.empty()) return std::nullopt;
  OriginalErrors errors;
  std::vector<double> sizes;
  std::vector<double> signed_errors;
  double logarithms = 0.0;
  for (const Judged& row : rows) {
    const double error = (row.predicted_us - row.measured_us) / row.measured_us;
    signed_errors.push_back(error);
    sizes.push_back(std::abs(error));
    errors.mape += std::abs(error);
    logarithms += std::log(std::abs(error) + kOriginalEpsilon);
  }
  const auto count = static_cast<double>(rows.size());
  errors.gmae = std::exp(logarithms / count);
  errors.mape /= count;
  errors.std_absolute = sample_deviation(sizes);
  errors.std_signed = sample_deviation(signed_errors);
  return errors;
}

std::vector<double> without_outliers(std::span<const double> values) {
  if (values.empty()) return {};
  const std::vector<double> all(values.begin(), values.end());
  const double first = quantile(all, 0.25);
  const double third = quantile(all, 0.75);
  const double reach = 1.5 * (third - first);
  std::vector<double> kept;
  for (const double value : values) {
    if (value >= first - reach && value <= third + reach) kept.push_back(value);
  }
  return kept;
}

std::optional<ErrorSummary> summarize(std::span<const Judged> rows) {
  if (rows.empty()) return std::nullopt;
  ErrorSummary summary;
  summary.count = rows.size();
  std::vector<double> sizes;
  std::vector<double> widths;
  double covered = 0.0;
  double logarithms = 0.0;
  for (const Judged& row : rows) {
    const double error = row.predicted_us / row.measured_us - 1.0;
    const double size = std::abs(error);
    sizes.push_back(size);
    summary.mape += size;
    summary.bias += error;
    summary.within_10 += size <= 0.1 ? 1.0 : 0.0;
    logarithms += std::log(std::max(size, kSmallestError));
    if (row.lower_us && row.upper_us) {
      covered += *row.lower_us <= row.measured_us && row.measured_us <= *row.upper_us ? 1.0 : 0.0;
      widths.push_back((*row.upper_us - *row.lower_us) / row.predicted_us / 2);
    }
  }
  const auto count = static_cast<double>(rows.size());
  summary.mape /= count;
  summary.bias /= count;
  summary.within_10 /= count;
  summary.gmae = std::exp(logarithms / count);
  summary.worst = *std::ranges::max_element(sizes);
  summary.median = quantile(sizes, 0.5);
  summary.p90 = quantile(std::move(sizes), 0.9);
  if (!widths.empty()) {
    summary.coverage = covered / static_cast<double>(widths.size());
    summary.median_width = quantile(std::move(widths), 0.5);
  }
  return summary;
}

}  // namespace inline_prof::base
