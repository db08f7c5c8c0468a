#include "watch/change_point.hpp"

#include "base/median.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace inline_prof::watch {
namespace {

constexpr double kMonth_s = 30 * 86400.0;

// A block holds at least so many samples and seconds.
constexpr std::size_t kSamplesOfABlock = 15;
constexpr double kBlock_s = 30;
constexpr std::size_t kMostPending = 128;

// The numbers of newest blocks that are compared with up to kBlocksBefore blocks before them.
constexpr std::array<std::size_t, 4> kBlocksAfter = {2, 6, 16, 40};
constexpr std::size_t kBlocksBefore = 72;
constexpr std::size_t kFewestBefore = 8;
constexpr std::size_t kMostBlocks = kBlocksBefore + 40;
// A scale is used while its blocks span less: a drift of 10 % a week moves 0.7 % in half a day.
constexpr double kLongestWindow_s = 86400;
constexpr std::size_t kFewestShifts = 12;
constexpr double kSmallestChange = 0.01;
// Earlier shifts are forgotten after one or two weeks.
constexpr double kGeneration_s = 7 * 86400.0;

// Returns the mean of the middle half.
double middle_mean(std::vector<float> levels) {
  std::sort(levels.begin(), levels.end());
  const std::size_t cut = levels.size() / 4;
  const double sum = std::accumulate(levels.begin() + static_cast<std::ptrdiff_t>(cut),
                                     levels.end() - static_cast<std::ptrdiff_t>(cut), 0.0);
  return sum / static_cast<double>(levels.size() - 2 * cut);
}

}  // namespace

void ChangeDetector::Extremes::add(float shift) {
  const std::size_t held = std::min(count, kLargest);
  ++count;
  auto* const end = largest.data() + held;
  auto* const place = std::upper_bound(largest.data(), end, shift, std::greater<>());
  if (place == largest.data() + kLargest) return;
  std::move_backward(place, std::min(end, largest.data() + kLargest - 1),
                     std::min(end + 1, largest.data() + kLargest));
  *place = shift;
}

ChangeDetector::ChangeDetector(double false_alarms_per_month, std::size_t series)
    : alarms_per_second_(false_alarms_per_month /
                         static_cast<double>(std::max<std::size_t>(series, 1)) / kMonth_s) {}

std::optional<Change> ChangeDetector::add(double time_s, std::int64_t iteration, double value_ns) {
  if (!(value_ns > 0) || !std::isfinite(value_ns)) return {};
  std::optional<Change> change;
  if (pending_count_ >= kSamplesOfABlock && time_s >= pending_start_s_ + kBlock_s) {
    close_block();
    change = test();
    if (change) change->detected_s = time_s;
    const double seconds = time_s - pending_start_s_;
    // A pause of the program is not the duration of a block.
    block_s_ =
        block_s_ == 0 ? seconds : block_s_ + (std::min(seconds, 2 * block_s_) - block_s_) / 16;
    pending_.clear();
    pending_count_ = 0;
    stride_ = 1;
  }
  if (pending_count_ == 0) {
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
    bytes += scale.unconfirmed.capacity() * sizeof(float);
  return bytes;
}

void ChangeDetector::close_block() {
  std::sort(pending_.begin(), pending_.end());
  const std::size_t half = pending_.size() / 2;
  const float level =
      pending_.size() % 2 == 1 ? pending_[half] : (pending_[half - 1] + pending_[half]) / 2;
  if (blocks_.size() == kMostBlocks) blocks_.erase(blocks_.begin());
  blocks_.push_back(
      {.start_s = pending_start_s_, .first_iteration = pending_iteration_, .level = level});
  if (pending_start_s_ >= generation_start_s_ + kGeneration_s) {
    generation_start_s_ = pending_start_s_;
    for (Scale& scale : scales_) {
      scale.earlier = scale.recent;
      scale.recent = {};
    }
  }
}

std::optional<Change> ChangeDetector::test() {
  const auto levels_of = [this](std::size_t begin, std::size_t end) {
    std::vector<float> levels;
    levels.reserve(end - begin);
    for (std::size_t i = begin; i < end; ++i)
      levels.push_back(blocks_[i].level);
    return levels;
  };
  for (std::size_t s = 0; s < kScales; ++s) {
    const std::size_t after = kBlocksAfter[s];
    if (blocks_.size() < after + std::max(kFewestBefore, after / 2)) break;
    const std::size_t split = blocks_.size() - after;
    const std::size_t first = split > kBlocksBefore ? split - kBlocksBefore : 0;
    if (blocks_.back().start_s - blocks_[first].start_s > kLongestWindow_s) break;
    Scale& scale = scales_[s];
    const double before_level = middle_mean(levels_of(first, split));
    double after_level = middle_mean(levels_of(split, blocks_.size()));
    if (after == 2) {  // both must have shifted
      const double one = blocks_[split].level;
      const double other = blocks_[split + 1].level;
      after_level = std::abs(one - before_level) < std::abs(other - before_level) ? one : other;
      if ((one - before_level) * (other - before_level) < 0) after_level = before_level;
    }
    // Scaled to one block against one: comparable while there are few blocks before.
    const double units =
        std::sqrt(1.0 / static_cast<double>(after) + 1.0 / static_cast<double>(split - first));
    const double shift = std::abs(after_level - before_level) / units;

    // Extrapolates the largest shifts by an exponential tail: no tail of a Gaussian, or of a
    // mixture of a few, is heavier.
    std::array<float, 2 * kLargest> largest{};
    const auto end_of = [](const Extremes& extremes) {
      return extremes.largest.cbegin() +
             static_cast<std::ptrdiff_t>(std::min(extremes.count, kLargest));
    };
    const auto end = std::merge(scale.recent.largest.cbegin(), end_of(scale.recent),
                                scale.earlier.largest.cbegin(), end_of(scale.earlier),
                                largest.begin(), std::greater<>());
    const std::size_t count = scale.recent.count + scale.earlier.count;
    if (count >= kFewestShifts) {
      const std::size_t used =
          std::min<std::size_t>({std::size_t{kLargest}, std::max<std::size_t>(4, count / 4),
                                 static_cast<std::size_t>(end - largest.begin())});
      const double least = largest[used - 1];
      const double excess =
          std::accumulate(largest.begin(), largest.begin() + static_cast<std::ptrdiff_t>(used),
                          0.0) /
              static_cast<double>(used - 1) -
          least * static_cast<double>(used) / static_cast<double>(used - 1);
      const double probability =
          alarms_per_second_ / kScales * static_cast<double>(after) * block_s_;
      const double threshold = least + excess * std::log(static_cast<double>(used) /
                                                         static_cast<double>(count) / probability);
      if (shift > threshold && std::abs(after_level - before_level) > kSmallestChange) {
        // The split with the least absolute error.
        double cost = 0;
        double least_cost = 0;
        std::size_t best = first;
        for (std::size_t i = first; i < blocks_.size(); ++i) {
          cost +=
              std::abs(blocks_[i].level - before_level) - std::abs(blocks_[i].level - after_level);
          if (cost < least_cost) {
            least_cost = cost;
            best = i + 1;
          }
        }
        best = std::clamp(best, first + 1, blocks_.size() - 1);
        const std::vector<float> old_levels = levels_of(first, best);
        const std::vector<float> new_levels = levels_of(best, blocks_.size());
        const double old_level = middle_mean(old_levels);
        const double new_level = middle_mean(new_levels);
        const double deviation = std::sqrt(scale.sum_of_squares / std::max(scale.shifts, 1.0) *
                                           (1.0 / static_cast<double>(old_levels.size()) +
                                            1.0 / static_cast<double>(new_levels.size())));
        const Change change{.began_s = blocks_[best].start_s,
                            .detected_s = blocks_.back().start_s,
                            .began_iteration = blocks_[best].first_iteration,
                            .before_ns = std::exp(old_level),
                            .after_ns = std::exp(new_level),
                            .ratio = std::exp(new_level - old_level),
                            .ratio_low = std::exp(new_level - old_level - 1.96 * deviation),
                            .ratio_high = std::exp(new_level - old_level + 1.96 * deviation)};
        blocks_.erase(blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(best));
        for (Scale& each : scales_) {
          each.unconfirmed.clear();
          each.largest_of_group = 0;
          each.in_group = 0;
        }
        return change;
      }
    }
    scale.sum_of_squares += shift * shift;
    scale.shifts += 1;
    scale.largest_of_group = std::max(scale.largest_of_group, static_cast<float>(shift));
    if (++scale.in_group == after) {
      scale.unconfirmed.push_back(scale.largest_of_group);
      scale.largest_of_group = 0;
      scale.in_group = 0;
      if (scale.unconfirmed.size() > 2 * kBlocksAfter.back() / after) {
        scale.recent.add(scale.unconfirmed.front());
        scale.unconfirmed.erase(scale.unconfirmed.begin());
      }
    }
  }
  return {};
}

std::vector<Change> find_changes(std::span<const Bin> bins, double false_alarms_per_month,
                                 std::size_t series) {
  ChangeDetector detector(false_alarms_per_month, series);
  std::vector<Change> changes;
  for (const Bin& bin : bins) {
    if (const auto change =
            detector.add(bin.start_s, bin.first_iteration, bin.sketch.quantile(0.5)))
      changes.push_back(*change);
  }
  return changes;
}

std::vector<ChangeGroup> group_changes(std::span<const Change> changes) {
  std::vector<std::size_t> order(changes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return changes[a].began_s < changes[b].began_s;
  });
  constexpr double least_distance_s = 120;  // a few blocks: a change is known to one or two
  std::vector<ChangeGroup> groups;
  for (const std::size_t index : order) {
    const Change& change = changes[index];
    const auto group =
        std::find_if(groups.begin(), groups.end(), [&](const ChangeGroup& candidate) {
          const Change& first = changes[candidate.changes.front()];
          const double distance =
              std::max({least_distance_s, (first.detected_s - first.began_s) / 2,
                        (change.detected_s - change.began_s) / 2});
          return (first.ratio > 1) == (change.ratio > 1) &&
                 change.began_s - first.began_s <= distance;
        });
    if (group == groups.end())
      groups.push_back({.changes = {index}});
    else
      group->changes.push_back(index);
  }
  for (ChangeGroup& group : groups) {
    std::vector<double> began;
    std::vector<double> ratios;
    for (const std::size_t index : group.changes) {
      began.push_back(changes[index].began_s);
      ratios.push_back(changes[index].ratio);
    }
    group.began_s = base::median(began);
    group.ratio = base::median(ratios);
  }
  return groups;
}

std::string describe(const ChangeGroup& group, std::size_t events) {
  const bool is_slower = group.ratio > 1;
  std::array<char, 32> times{};
  std::snprintf(times.data(), times.size(), "%.2f", is_slower ? group.ratio : 1 / group.ratio);
  return std::to_string(group.changes.size()) + " of " + std::to_string(events) +
         " events became " + times.data() + " times " + (is_slower ? "slower" : "faster") +
         " at the same time";
}

}  // namespace inline_prof::watch
