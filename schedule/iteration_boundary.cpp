#include "schedule/iteration_boundary.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <vector>

namespace inline_prof::schedule {
namespace {

// The first iterations may launch more or fewer than later ones: a run's segments differ by less.
constexpr double kDifferentSegment = 0.25;  // of the cycle's launches are missing or too many

// Launches of the cycle that a segment has too few or too many of; others are not looked at.
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

// Follows the cycle backwards from an anchor through launches that may have some more or some fewer
// than it.  The boundary is where the score was best: a launch that fits counts one, a gap more
// than the short matches that chance gives in what is no part of the cycle.
class Alignment {
 public:
  Alignment(Launches before, const Cycle& cycle) : before_(before), cycle_(cycle) {}

  // Launches of `before` that belong to the cycle, counted from its end, and how many of the
  // cycle's they cover.
  struct Extent {
    std::size_t launches = 0;
    std::size_t steady = 0;
  };

  [[nodiscard]] Extent best() {
    Extent best;
    double best_score = 0;
    double score = 0;
    while (at_.launches < before_.size() && at_.steady + 1 < cycle_.steady.size()) {
      if (cycle_.varies[launch(0)]) {
        ++at_.launches;
      } else if (launch(0) == steady(0)) {
        ++at_.launches;
        ++at_.steady;
        score += 1;
        if (score > best_score) {
          best_score = score;
          best = at_;
        }
      } else if (cross_gap()) {
        score -= kGapCost;
        if (score < best_score - 4 * kGapCost) break;
      } else {
        break;
      }
    }
    return best;
  }

 private:
  static constexpr double kGapCost = 8;
  static constexpr std::size_t kLongestGap = 4096;
  static constexpr std::size_t kSureMatch = 4;  // launches in a row behind a gap

  [[nodiscard]] std::uint32_t launch(std::size_t back) const {
    return before_[before_.size() - 1 - at_.launches - back];
  }
  [[nodiscard]] std::uint32_t steady(std::size_t back) const {
    return cycle_.steady[cycle_.steady.size() - 1 - at_.steady - back];
  }

  [[nodiscard]] bool matches(std::size_t launches, std::size_t steadies) const {
    for (std::size_t i = 0; i < kSureMatch; ++i) {
      if (at_.launches + launches + i >= before_.size()) return false;
      if (at_.steady + steadies + i + 1 >= cycle_.steady.size()) return i > 0;
      if (launch(launches + i) != steady(steadies + i)) return false;
    }
    return true;
  }

  // The shortest gap on either side behind which the two go on together.
  [[nodiscard]] bool cross_gap() {
    for (std::size_t gap = 1; gap <= kLongestGap; ++gap) {
      if (matches(gap, 0)) {
        at_.launches += gap;
        return true;
      }
      if (matches(0, gap)) {
        at_.steady += gap;
        return true;
      }
    }
    return false;
  }

  Launches before_;
  const Cycle& cycle_;
  Extent at_{};
};

// Steady launches between an anchor and the place where the host waits, in each of the last
// segments the same; empty where it waits elsewhere, too, or not.
std::optional<std::size_t> waits_before(const LaunchLog& log,
                                        std::span<const std::uint32_t> positions,
                                        const Cycle& cycle) {
  constexpr std::size_t looked_at = 16;
  const std::size_t segments = std::min(std::min(looked_at, cycle.regular), positions.size() - 1);
  std::optional<std::size_t> place;
  std::size_t with_one = 0;
  for (std::size_t i = positions.size() - 1 - segments; i + 1 < positions.size(); ++i) {
    const auto first = std::lower_bound(log.waits().begin(), log.waits().end(), positions[i]);
    const auto last = std::lower_bound(first, log.waits().end(), positions[i + 1]);
    if (last - first != 1) continue;
    std::size_t steady = 0;
    for (std::size_t launch = positions[i]; launch < *first; ++launch) {
      if (!cycle.varies[log.launches()[launch]]) ++steady;
    }
    if (place && *place != steady) return std::nullopt;
    place = steady;
    ++with_one;
  }
  // An evaluation may have its own.
  if (4 * with_one < 3 * segments || !place) return std::nullopt;
  return *place % cycle.steady.size();
}

// What is before the first whole iteration, at most: a share of it.
constexpr double kMostInCommon = 0.2;

Boundary behind_wait(const LaunchLog& log, const Cycle& cycle, Boundary boundary,
                     std::size_t steady_index) {
  const std::size_t size = cycle.steady.size();
  const std::size_t early = (steady_index + size - boundary.steady_index) % size;
  if (boundary.is_known &&
      (early == 0 || static_cast<double>(early) > kMostInCommon * static_cast<double>(size)))
    return boundary;
  const auto wait = std::lower_bound(log.waits().begin(), log.waits().end(), boundary.first_launch);
  if (wait == log.waits().end()) return boundary;
  return {.first_launch = *wait, .steady_index = steady_index, .is_known = true};
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
  const std::size_t begin = first == 0 ? 0 : positions[first - 1] + 1;
  const Launches before = launches.subspan(begin, positions[first] - begin);
  const auto extent = Alignment(before, cycle).best();
  if (begin == 0 && extent.launches == before.size() && log.dropped() != 0) {
    return {.first_launch = positions[first] + 1, .steady_index = 1, .is_known = false};
  }
  const std::size_t index = cycle.steady.size() - extent.steady;
  return {.first_launch = positions[first] - extent.launches,
          .steady_index = index == cycle.steady.size() ? 0 : index,
          .is_known = true};
}

}  // namespace

Boundary find_boundary(const LaunchLog& log, std::span<const std::uint32_t> positions,
                       const Cycle& cycle) {
  const Boundary boundary = from_launches(log, positions, cycle);
  const auto steady_index = waits_before(log, positions, cycle);
  return steady_index ? behind_wait(log, cycle, boundary, *steady_index) : boundary;
}

}  // namespace inline_prof::schedule
