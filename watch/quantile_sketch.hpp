// Quantiles of any number of times, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace inline_prof::watch {

// Counts of values in buckets of equal ratio. Every quantile lies within 1 % of a value of that
// rank. Two sketches merge without loss. Source: C. Masson, J. E. Rim, H. K. Lee, "DDSketch: A fast
// and fully-mergeable quantile sketch with relative-error guarantees", PVLDB 12(12), 2019,
// doi:10.14778/3352063.3352135.
class QuantileSketch {
 public:
  static constexpr double kRelativeError = 0.01;
  // Bucket i holds kRatio^(i-1) < value_ns <= kRatio^i.
  static constexpr double kRatio = (1 + kRelativeError) / (1 - kRelativeError);
  // Values below 1e-3 ns, 0 among them, and above 1e18 ns (32 years) count in these.
  static constexpr int kLowestBucket = -345;
  static constexpr int kHighestBucket = 2073;

  // Counts `value_ns`. Ignores NaN.
  void add(double value_ns, std::uint32_t count = 1);
  void merge(const QuantileSketch& other);

  // Folds the tails, so that a sample that a suspended process made a day long takes no room: while
  // there are more than kFewBuckets (a ratio of 3.6), the bucket at the end that holds fewer values
  // is added to its neighbour, as long as that moves at most 2 % of the values, or one. Beyond
  // kManyBuckets it is added whatever it holds.
  void fold_tails();
  static constexpr std::size_t kFewBuckets = 64;
  static constexpr std::size_t kManyBuckets = 512;

  // Gives unused memory back: few values will be added.
  void shrink() { counts_.shrink_to_fit(); }

  // Returns the value at `q`, 0..1; NaN if empty.
  [[nodiscard]] double quantile(double q) const;
  [[nodiscard]] std::uint64_t count() const;

  // The buckets between the first and the last that are not 0.
  [[nodiscard]] int first_bucket() const { return first_bucket_; }
  [[nodiscard]] const std::vector<std::uint32_t>& counts() const { return counts_; }

  // Returns a sketch of what another one returned. Throws std::invalid_argument if a bucket lies
  // outside the range above.
  [[nodiscard]] static QuantileSketch from(int first_bucket, std::vector<std::uint32_t> counts);

 private:
  void add_to_bucket(int bucket, std::uint32_t count);

  int first_bucket_ = 0;
  std::vector<std::uint32_t> counts_{};
};

}  // namespace inline_prof::watch
