#include "schedule/iteration_boundary.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace inline_prof::schedule {
namespace {

// The first iterations may launch more or fewer than later ones: a run's segments differ by less.
constexpr double kDifferentSegment = 0.25;  // of the cycle's launches are missing or too many

// Counts the launches of the cycle that a segment has too few or too many of; others are ignored.
std::size_t deviation(Launches segment, const Cycle& cycle) {
  std::vector<int> counts(cycle.varies.size());
  for (const std::uint32_t kernel : cycle.steady)
    ++counts[kernel];
  std::vector<bool> is_steady(cycle.varies.size());
  for (const std::uint32_t kernel : cycle.steady)
    is_steady[kernel] = true;
  for (const std::uint32_t kernel : segment)
    --counts[kernel];
  std::size_t sum = 0;
  for (std::size_t kernel = 0; kernel < counts.size(); ++kernel) {
    if (is_steady[kernel]) sum += static_cast<std::size_t>(std::abs(counts[kernel]));
  }
  return sum;
}

// Follows the cycle backwards from an anchor, round and round, through launches that may have some
// more or some fewer than it.  The boundary is where the score was best: a launch that fits counts
// one (a graph as many as it has kernels), a gap more than the short matches that chance gives in
// what is no part of the cycle, and a launch that is missing one more.
class Alignment {
 public:
  Alignment(const LaunchLog& log, Launches before, const Cycle& cycle)
      : log_(log),
        before_(before),
        cycle_(cycle),
        gap_cost_(std::min(kMostGapCost, static_cast<double>(log.weight_of(cycle.steady)) / 4)) {}

  // The launches of `before` that belong to the cycle, counted from its end, and how many of the
  // cycle's they cover.
  struct Extent {
    std::size_t launches = 0;
    std::size_t steady = 0;
  };

  [[nodiscard]] Extent best() {
    Extent best;
    double best_score = 0;
    score_ = 0;
    while (at_.launches < before_.size()) {
      if (cycle_.varies[launch(0)]) {
        ++at_.launches;
      } else if (launch(0) == steady(0)) {
        score_ += log_.weight(launch(0));
        ++at_.launches;
        ++at_.steady;
        if (score_ > best_score) {
          best_score = score_;
          best = at_;
        }
      } else if (!cross_gap() || score_ < best_score - 4 * gap_cost_) {
        break;
      }
    }
    return best;
  }

 private:
  static constexpr double kMostGapCost = 8;
  static constexpr std::size_t kLongestGap = 4096;
  // Launches in a row that must fit behind a gap; fewer where gaps are usual, as while kernels are
  // tried.
  static constexpr std::size_t kSureMatch = 4;
  static constexpr std::size_t kUsualMatch = 2;
  static constexpr int kUsualGaps = 4;

  [[nodiscard]] std::uint32_t launch(std::size_t back) const {
    return before_[before_.size() - 1 - at_.launches - back];
  }
  [[nodiscard]] std::uint32_t steady(std::size_t back) const {
    const std::size_t size = cycle_.steady.size();
    return cycle_.steady[size - 1 - (at_.steady + back) % size];
  }

  [[nodiscard]] bool matches(std::size_t launches, std::size_t steadies) const {
    const std::size_t sure = gaps_ < kUsualGaps ? kSureMatch : kUsualMatch;
    for (std::size_t i = 0; i < sure; ++i) {
      if (at_.launches + launches + i >= before_.size()) return i > 0;
      if (launch(launches + i) != steady(steadies + i)) return false;
    }
    return true;
  }

  // Crosses the shortest gap on either side behind which the two continue together.
  [[nodiscard]] bool cross_gap() {
    score_ -= gap_cost_ / ++gaps_;
    std::size_t missing = 0;
    for (std::size_t gap = 1; gap <= kLongestGap; ++gap) {
      if (matches(gap, 0)) {
        at_.launches += gap;
        return true;
      }
      if (gap >= cycle_.steady.size()) continue;
      missing += log_.weight(steady(gap - 1));
      if (!matches(0, gap)) continue;
      at_.steady += gap;
      score_ -= static_cast<double>(missing);
      return true;
    }
    return false;
  }

  const LaunchLog& log_;
  Launches before_;
  const Cycle& cycle_;
  double gap_cost_;
  Extent at_{};
  double score_ = 0;
  int gaps_ = 0;
};

// The most that may come before the first whole iteration: a share of the launches between two
// waits.
constexpr double kMostInCommon = 0.2;

Boundary behind_wait(const LaunchLog& log, const Cycle& cycle, Boundary boundary) {
  const std::size_t size = cycle.steady.size();
  std::size_t early = size;   // before the next wait
  std::size_t behind = size;  // the last one
  for (const std::size_t wait : cycle.waits) {
    early = std::min(early, (wait + size - boundary.steady_index) % size);
    behind = std::min(behind, (boundary.steady_index + size - wait) % size);
  }
  const auto at = std::lower_bound(log.waits().begin(), log.waits().end(), boundary.first_launch);
  const bool is_behind_one = at != log.waits().end() && *at == boundary.first_launch;
  const double between = static_cast<double>(early + behind);
  // The first iteration lacks some launches behind the wait.
  if (is_behind_one && early != 0 && static_cast<double>(behind) <= kMostInCommon * between) {
    boundary.steady_index = (boundary.steady_index + size - behind) % size;
    return boundary;
  }
  // True if no launch before might look like the end of an iteration, or if the host waited for it.
  const bool begins_there = boundary.first_launch + log.dropped() == 0 || is_behind_one;
  if (early == 0 ||
      (boundary.is_known && (begins_there || static_cast<double>(early) > kMostInCommon * between)))
    return boundary;
  if (at == log.waits().end()) return boundary;
  return {.first_launch = *at,
          .steady_index = (boundary.steady_index + early) % size,
          .is_known = true};
}

Boundary from_launches(const LaunchLog& log, std::span<const std::uint32_t> positions,
                       const Cycle& cycle) {
  const Launches launches = log.launches();
  std::size_t first = cycle.first_segment;
  for (; first > 0; --first) {
    const auto segment =
        launches.subspan(positions[first - 1], positions[first] - positions[first - 1]);
    if (static_cast<double>(deviation(segment, cycle)) >
        kDifferentSegment * static_cast<double>(cycle.steady.size()))
      break;
  }
  const Launches before = launches.first(positions[first]);
  const auto extent = Alignment(log, before, cycle).best();
  if (extent.launches == before.size() && log.dropped() != 0) {
    return {.first_launch = positions[first] + 1, .steady_index = 1, .is_known = false};
  }
  const std::size_t index = cycle.steady.size() - extent.steady % cycle.steady.size();
  return {.first_launch = positions[first] - extent.launches,
          .steady_index = index == cycle.steady.size() ? 0 : index,
          .is_known = true};
}

}  // namespace

Boundary find_boundary(const LaunchLog& log, std::span<const std::uint32_t> positions,
                       const Cycle& cycle) {
  Boundary boundary = from_launches(log, positions, cycle);
  if (!cycle.waits.empty()) boundary = behind_wait(log, cycle, boundary);
  boundary.is_sure =
      boundary.first_launch + log.dropped() == 0 ||
      std::binary_search(log.waits().begin(), log.waits().end(), boundary.first_launch);
  return boundary;
}

}  // namespace inline_prof::schedule
