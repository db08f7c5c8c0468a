#include "base/median.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>

namespace inline_prof::base {
namespace {

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

template <typename Value>
MedianAndInterval find_median_and_interval95(std::span<Value> values) {
  if (values.empty()) throw std::invalid_argument("median of nothing");
  const std::size_t rank = interval95_rank(values.size());
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  // The values between the ends of the interval need to be sorted only as far as its middle.
  auto from = values.begin();
  auto to = values.end();
  MedianAndInterval result;
  if (rank > 0) {
    from += static_cast<std::ptrdiff_t>(rank - 1);
    std::nth_element(values.begin(), from, values.end());
    const auto lower = static_cast<double>(*from);  // the next line moves it
    const auto upper = values.end() - static_cast<std::ptrdiff_t>(rank);
    std::nth_element(from, upper, values.end());
    to = upper + 1;
    result.ci95 = {lower, static_cast<double>(*upper)};
  }
  std::nth_element(from, middle, to);
  result.median = static_cast<double>(*middle);
  if (values.size() % 2 == 0)
    result.median = 0.5 * (static_cast<double>(*std::max_element(from, middle)) + result.median);
  return result;
}

}  // namespace

std::size_t interval95_rank(std::size_t count) {
  // The events of a file mostly have as many samples as the one before.  Count and rank in one
  // word: not thread-local, of which the injected library may have little.
  static constinit std::atomic<std::uint64_t> last{0};
  constexpr unsigned bits = 32;
  if (count >> bits != 0) return find_interval95_rank(count);
  const std::uint64_t known = last.load(std::memory_order_relaxed);
  if (known >> bits == count) return static_cast<std::uint32_t>(known);
  const std::size_t rank = find_interval95_rank(count);
  last.store(std::uint64_t{count} << bits | rank, std::memory_order_relaxed);
  return rank;
}

double MedianAndInterval::relative_half_width() const {
  if (!ci95 || !(median > 0)) return std::numeric_limits<double>::infinity();
  return (ci95->upper - ci95->lower) / 2 / median;
}

double median(std::vector<double> values) {
  return median_in_place(values);
}

double median_in_place(std::span<double> values) {
  if (values.empty()) throw std::invalid_argument("median of nothing");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return 0.5 * (*std::max_element(values.begin(), middle) + *middle);
}

std::optional<Spread> median_spread(const std::vector<double>& values) {
  std::vector<double> sorted = values;
  std::ranges::sort(sorted);
  return median_spread_of_sorted(sorted);
}

MedianAndInterval median_and_interval95(std::span<double> values) {
  return find_median_and_interval95(values);
}

MedianAndInterval median_and_interval95(std::span<float> values) {
  return find_median_and_interval95(values);
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
  const double middle = median_of_sorted(sorted);
  std::vector<double> distances(sorted.size());
  std::ranges::transform(sorted, distances.begin(),
                         [&](double value) { return std::abs(value - middle); });
  const double mad = median_in_place(distances);
  const auto is_far = [&](double distance) { return distance > kOutlierMads * mad; };
  const auto outliers = std::ranges::count_if(distances, is_far);
  return Spread{.mad = mad, .outliers = static_cast<std::size_t>(outliers)};
}

}  // namespace inline_prof::base
