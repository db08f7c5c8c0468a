#include "watch/quantile_sketch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

namespace inline_prof::watch {
namespace {

constexpr double kLogOfRatio = 0.020000666706669543;  // log(kRatio): 2 atanh(0.01)

// A count that would overflow stays at its largest value.
void add_to(std::uint32_t& sum, std::uint32_t count) {
  const std::uint32_t room = std::numeric_limits<std::uint32_t>::max() - sum;
  sum += std::min(room, count);
}

}  // namespace

void QuantileSketch::add(double value_ns, std::uint32_t count) {
  if (std::isnan(value_ns) || count == 0) return;
  const double exact = value_ns > 0 ? std::ceil(std::log(value_ns) / kLogOfRatio) : kLowestBucket;
  add_to_bucket(static_cast<int>(std::clamp<double>(exact, kLowestBucket, kHighestBucket)), count);
}

void QuantileSketch::merge(const QuantileSketch& other) {
  for (std::size_t i = 0; i < other.counts_.size(); ++i) {
    if (other.counts_[i] > 0)
      add_to_bucket(other.first_bucket_ + static_cast<int>(i), other.counts_[i]);
  }
}

double QuantileSketch::quantile(double q) const {
  const std::uint64_t all = count();
  if (all == 0) return std::numeric_limits<double>::quiet_NaN();
  const double rank = std::clamp(q, 0.0, 1.0) * static_cast<double>(all - 1);
  std::uint64_t seen = 0;
  std::size_t bucket = 0;
  while (bucket + 1 < counts_.size()) {
    seen += counts_[bucket];
    if (static_cast<double>(seen) > rank) break;
    ++bucket;
  }
  // The value with the same relative distance from both edges of its bucket.
  return 2 * std::exp((first_bucket_ + static_cast<int>(bucket)) * kLogOfRatio) / (1 + kRatio);
}

std::uint64_t QuantileSketch::count() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

QuantileSketch QuantileSketch::from(int first_bucket, std::vector<std::uint32_t> counts) {
  QuantileSketch sketch;
  const auto is_filled = [](std::uint32_t count) { return count > 0; };
  const auto first = std::find_if(counts.begin(), counts.end(), is_filled);
  if (first == counts.end()) return sketch;
  const std::int64_t lowest = first_bucket + (first - counts.begin());
  counts.erase(counts.begin(), first);
  counts.erase(std::find_if(counts.rbegin(), counts.rend(), is_filled).base(), counts.end());
  const std::int64_t highest = lowest + static_cast<std::int64_t>(counts.size()) - 1;
  if (lowest < kLowestBucket || highest > kHighestBucket)
    throw std::invalid_argument(
        "buckets " + std::to_string(lowest) + " to " + std::to_string(highest) + ", expected " +
        std::to_string(kLowestBucket) + " to " + std::to_string(kHighestBucket));
  sketch.first_bucket_ = static_cast<int>(lowest);
  sketch.counts_ = std::move(counts);
  return sketch;
}

void QuantileSketch::add_to_bucket(int bucket, std::uint32_t count) {
  if (counts_.empty()) first_bucket_ = bucket;
  if (bucket < first_bucket_) {
    counts_.insert(counts_.begin(), static_cast<std::size_t>(first_bucket_ - bucket), 0);
    first_bucket_ = bucket;
  }
  const auto index = static_cast<std::size_t>(bucket - first_bucket_);
  if (index >= counts_.size()) counts_.resize(index + 1);
  add_to(counts_[index], count);
}

void QuantileSketch::fold_tails() {
  if (counts_.size() <= kFewBuckets) return;
  const std::uint64_t few = std::max<std::uint64_t>(count() / 50, 1);
  std::size_t first = 0;
  std::size_t last = counts_.size() - 1;
  while (last - first >= kFewBuckets) {
    const bool is_low = counts_[first] < counts_[last];
    if ((is_low ? counts_[first] : counts_[last]) > few && last - first < kManyBuckets) break;
    if (is_low) {
      add_to(counts_[first + 1], counts_[first]);
      ++first;
    } else {
      add_to(counts_[last - 1], counts_[last]);
      --last;
    }
  }
  counts_ = std::vector<std::uint32_t>(counts_.begin() + static_cast<std::ptrdiff_t>(first),
                                       counts_.begin() + static_cast<std::ptrdiff_t>(last) + 1);
  first_bucket_ += static_cast<int>(first);
}

}  // namespace inline_prof::watch
