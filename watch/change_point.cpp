#include "watch/change_point.hpp"

#include "watch/power.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

namespace inline_prof::watch {
namespace {

// A block holds at least so many samples and seconds. Of more than kMostPending samples, every
// second, fourth ... is kept.
constexpr std::size_t kSamplesOfABlock = 15;
constexpr double kBlockSeconds = 30;
constexpr std::size_t kMostPending = 128;

// The numbers of newest blocks that are compared with up to kBlocksBefore blocks before them: 2 to
// 25 minutes of an event that is 2 % of the iteration.
constexpr std::array<std::size_t, 4> kBlocksAfter = {4, 10, 24, 48};
constexpr std::size_t kBlocksBefore = 72;
constexpr std::size_t kFewestBefore = 8;
constexpr std::size_t kMostBlocks = kBlocksBefore + kBlocksAfter.back();
// Compared blocks span no more than this: a drift of 10 % a week moves 0.8 % between the middles of
// both halves, less than kSmallestChange.
constexpr double kLongestWindowSeconds = 86400;
constexpr double kSmallestChange = 0.01;
// A scale is not tested before it has seen so many shifts, and reports only large changes until
// their largest are known better.
constexpr std::size_t kFewestShifts = 16;
constexpr std::size_t kShiftsToKnow = 64;
constexpr double kLargeChange = 0.1;
// Shifts are forgotten after one or two weeks.
constexpr double kGenerationSeconds = 7 * 86400.0;

// The shift to this power has a tail that is extrapolated as an exponential one. 2 would fit
// Gaussian noise, 1 noise with an exponential tail; simulations of levels that last for hours ask
// for less than 2 (tests/bench/change_point_bench.cpp).
constexpr double kPower = 1.5;
constexpr double kMargin = 1.1;

// Returns the mean of all but the smallest and the largest values, one in `share` each.
double middle_mean(std::vector<float>& values, std::size_t share) {
  std::sort(values.begin(), values.end());
  const std::size_t cut = values.size() / share;
  const double sum = std::accumulate(values.begin() + static_cast<std::ptrdiff_t>(cut),
                                     values.end() - static_cast<std::ptrdiff_t>(cut), 0.0);
  return sum / static_cast<double>(values.size() - 2 * cut);
}

}  // namespace

void ChangeDetector::Extremes::add(float shift) {
  ++count;
  if (largest.size() == kLargest) {
    if (shift <= largest.back()) return;
    largest.pop_back();
  }
  largest.insert(std::upper_bound(largest.begin(), largest.end(), shift, std::greater<>()), shift);
}

// Source of the tail: J. Pickands, "Statistical inference using extreme order statistics", Annals
// of Statistics 3(1), 1975, doi:10.1214/aos/1176343003. The mean excess is known from a few values
// only, so the excess of the next one has a Pareto distribution instead of an exponential one.
double ChangeDetector::Scale::threshold(double probability) const {
  const std::size_t count = recent.count + earlier.count;
  std::array<float, 2 * kLargest> largest{};
  std::merge(recent.largest.begin(), recent.largest.end(), earlier.largest.begin(),
             earlier.largest.end(), largest.begin(), std::greater<>());
  const std::size_t used = std::clamp<std::size_t>(count / 4, kFewestShifts / 2, kLargest);
  const double least = power(largest[used - 1], kPower);
  double excess = 0;
  for (std::size_t i = 0; i + 1 < used; ++i)
    excess += power(largest[i], kPower) - least;
  const double share = static_cast<double>(used) / static_cast<double>(count);
  const double values = static_cast<double>(used - 1);
  const double factor = power(probability / share, -1 / values) - 1;
  return kMargin * power(least + excess * std::max(factor, 0.0), 1 / kPower);
}

double false_alarms_per_second(double per_month, std::size_t series) {
  constexpr double month_s = 30 * 86400.0;
  return per_month / static_cast<double>(std::max<std::size_t>(series, 1)) / month_s;
}

ChangeDetector::ChangeDetector(double false_alarms_per_month, std::size_t series)
    : alarms_per_second_(false_alarms_per_second(false_alarms_per_month, series)) {}

std::optional<Change> ChangeDetector::add(double time_s, std::int64_t iteration, double value_ns) {
  if (!(value_ns > 0) || !std::isfinite(value_ns)) return {};
  std::optional<Change> change;
  if (pending_count_ >= kSamplesOfABlock && time_s >= pending_start_s_ + kBlockSeconds) {
    close_block();
    const double seconds = time_s - pending_start_s_;
    // A pause of the program is not the duration of a block.
    block_s_ =
        block_s_ == 0 ? seconds : block_s_ + (std::min(seconds, 2 * block_s_) - block_s_) / 16;
    for (std::size_t scale = 0; scale < kScales && !change; ++scale)
      change = test(scale);
    if (change) change->detected_s = time_s;
  }
  if (pending_.empty()) {
    pending_start_s_ = time_s;
    pending_iteration_ = iteration;
  }
  if (pending_count_ % stride_ == 0) {
    if (pending_.size() == kMostPending) {
      for (std::size_t i = 0; i < kMostPending / 2; ++i)
        pending_[i] = pending_[2 * i];
      pending_.resize(kMostPending / 2);
      stride_ *= 2;
    }
    pending_.push_back(static_cast<float>(std::log(value_ns)));
  }
  ++pending_count_;
  return change;
}

std::size_t ChangeDetector::bytes() const {
  std::size_t bytes = sizeof(ChangeDetector) + pending_.capacity() * sizeof(float) +
                      blocks_.capacity() * sizeof(Block);
  for (const Scale& scale : scales_)
    bytes += (scale.unconfirmed.capacity() + scale.recent.largest.capacity() +
              scale.earlier.largest.capacity()) *
             sizeof(float);
  return bytes;
}

void ChangeDetector::close_block() {
  if (blocks_.size() == kMostBlocks) blocks_.erase(blocks_.begin());
  blocks_.push_back({.start_s = pending_start_s_,
                     .first_iteration = static_cast<std::uint32_t>(pending_iteration_),
                     .level = static_cast<float>(middle_mean(pending_, 4))});
  pending_.clear();
  pending_count_ = 0;
  stride_ = 1;
  if (pending_start_s_ < generation_start_s_ + kGenerationSeconds) return;
  generation_start_s_ = pending_start_s_;
  for (Scale& scale : scales_)
    scale.earlier = std::exchange(scale.recent, {});
}

double ChangeDetector::level(std::size_t begin, std::size_t end) const {
  std::vector<float> levels;
  levels.reserve(end - begin);
  for (std::size_t i = begin; i < end; ++i)
    levels.push_back(blocks_[i].level);
  return middle_mean(levels, 8);
}

std::optional<Change> ChangeDetector::test(std::size_t index) {
  Scale& scale = scales_[index];
  const std::size_t after = kBlocksAfter[index];
  if (blocks_.size() <= after) return {};
  const std::size_t split = blocks_.size() - after;
  std::size_t first = split - std::min(split, kBlocksBefore);
  while (first < split && blocks_.back().start_s - blocks_[first].start_s > kLongestWindowSeconds)
    ++first;
  if (split - first < std::max(kFewestBefore, after / 2)) return {};

  const double before_level = level(first, split);
  const double after_level = level(split, blocks_.size());
  const double difference = after_level - before_level;
  // Scaled to one block against one: comparable while there are few blocks before.
  const double shift = std::abs(difference) / std::sqrt(1.0 / static_cast<double>(after) +
                                                        1.0 / static_cast<double>(split - first));
  const std::size_t known = scale.recent.count + scale.earlier.count;
  const double smallest = known < kShiftsToKnow ? kLargeChange : kSmallestChange;
  if (known >= kFewestShifts && std::abs(difference) > smallest) {
    const double threshold =
        scale.threshold(alarms_per_second_ / kScales * static_cast<double>(after) * block_s_);
    // A few blocks must agree: one long interruption would move their mean.
    const bool do_agree =
        index > 0 || std::all_of(blocks_.begin() + static_cast<std::ptrdiff_t>(split),
                                 blocks_.end(), [&](const Block& block) {
                                   return (block.level - before_level) / difference > 0.5;
                                 });
    if (shift > threshold && do_agree) {
      const Change change = describe(first, before_level, after_level);
      // Shifts that come again are no news: each makes the next one less likely to be reported.
      scale.recent.add(static_cast<float>(threshold));
      return change;
    }
  }
  scale.mean_square += (shift * shift - scale.mean_square) / std::min(++scale.tests, 2000.0);
  scale.largest_of_group = std::max(scale.largest_of_group, static_cast<float>(shift));
  if (++scale.in_group == after) {
    scale.unconfirmed.push_back(std::exchange(scale.largest_of_group, 0.0F));
    scale.in_group = 0;
    if (scale.unconfirmed.size() > kBlocksAfter.back() / after) {
      scale.recent.add(scale.unconfirmed.front());
      scale.unconfirmed.erase(scale.unconfirmed.begin());
    }
  }
  return {};
}

Change ChangeDetector::describe(std::size_t first, double before_level, double after_level) {
  // Finds the split with the least absolute error.
  double error = 0;
  double least_error = 0;
  std::size_t split = first;
  for (std::size_t i = first; i < blocks_.size(); ++i) {
    error += std::abs(blocks_[i].level - before_level) - std::abs(blocks_[i].level - after_level);
    if (error < least_error) {
      least_error = error;
      split = i + 1;
    }
  }
  split = std::clamp(split, first + 1, blocks_.size() - 1);
  // The blocks at the split may hold samples of both.
  const std::size_t before_end = std::max(split - 1, first + 1);
  const std::size_t after_begin = std::min(split + 1, blocks_.size() - 1);
  const double before = level(first, before_end);
  const double after = level(after_begin, blocks_.size());
  double square = 0;
  for (const Scale& scale : scales_)
    square = std::max(square, scale.mean_square);
  const double deviation = std::sqrt(square / static_cast<double>(before_end - first) +
                                     square / static_cast<double>(blocks_.size() - after_begin));
  const Change change{.began_s = blocks_[split].start_s,
                      .began_iteration = blocks_[split].first_iteration,
                      .before_ns = std::exp(before),
                      .after_ns = std::exp(after),
                      .ratio = std::exp(after - before),
                      .ratio_low = std::exp(after - before - 1.96 * deviation),
                      .ratio_high = std::exp(after - before + 1.96 * deviation)};
  blocks_.erase(blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(split));
  for (Scale& scale : scales_) {
    scale.unconfirmed.clear();
    scale.largest_of_group = 0;
    scale.in_group = 0;
  }
  return change;
}

}  // namespace inline_prof::watch
