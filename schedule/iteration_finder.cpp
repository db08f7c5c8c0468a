#include "schedule/iteration_finder.hpp"

#include "schedule/iteration_boundary.hpp"
#include "schedule/recurrence.hpp"

#include <algorithm>
#include <utility>

namespace inline_prof::schedule {

using Positions = std::span<const std::uint32_t>;

// Where each kernel is launched: a counting sort of the launches.
class PositionLists {
 public:
  PositionLists(Launches launches, std::size_t kernel_count)
      : begins_(kernel_count + 1), positions_(launches.size()) {
    for (const std::uint32_t kernel : launches)
      ++begins_[kernel + 1];
    for (std::size_t i = 1; i < begins_.size(); ++i)
      begins_[i] += begins_[i - 1];
    auto next = begins_;
    for (std::size_t i = 0; i < launches.size(); ++i)
      positions_[next[launches[i]]++] = static_cast<std::uint32_t>(i);
  }

  [[nodiscard]] Positions of(std::size_t kernel) const {
    return Positions(positions_).subspan(begins_[kernel], begins_[kernel + 1] - begins_[kernel]);
  }

 private:
  std::vector<std::size_t> begins_;
  std::vector<std::uint32_t> positions_;
};

namespace {

constexpr std::size_t kFewestPositions = 5;
constexpr std::size_t kGapsLookedAt = 32;
constexpr std::ptrdiff_t kAnchorsTried = 8;  // of those at nearly the same distance
constexpr std::size_t kMostWork = 24;  // launches studied for each one kept, whenever one looks

// A kernel that is launched at nearly equal distances.
struct Candidate {
  std::uint32_t kernel = 0;
  std::size_t gap = 0;  // launches, median of the last ones
  std::size_t irregular = 0;
};

std::optional<Candidate> candidate(std::uint32_t kernel, Positions positions,
                                   std::size_t launch_count) {
  if (positions.size() < kFewestPositions) return std::nullopt;
  std::vector<std::size_t> gaps;
  for (std::size_t i = positions.size() - std::min(positions.size() - 1, kGapsLookedAt);
       i < positions.size(); ++i) {
    gaps.push_back(positions[i] - positions[i - 1]);
  }
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::nth_element(gaps.begin(), middle, gaps.end());
  const std::size_t gap = *middle;
  // A kernel that has not been launched for two rounds is no longer a candidate.
  if (gap < 2 || launch_count - positions.back() > 2 * gap) return std::nullopt;
  const auto irregular = static_cast<std::size_t>(std::count_if(
      gaps.begin(), gaps.end(), [&](std::size_t g) { return 4 * g < 3 * gap || 4 * g > 5 * gap; }));
  if (5 * irregular > 2 * gaps.size()) return std::nullopt;
  return Candidate{.kernel = kernel, .gap = gap, .irregular = irregular};
}

// By ascending distance; of those with nearly one distance the most regular, and not all of them.
std::vector<Candidate> candidates(const PositionLists& lists, std::size_t kernel_count,
                                  std::size_t launch_count) {
  std::vector<Candidate> all;
  for (std::uint32_t kernel = 0; kernel < kernel_count; ++kernel) {
    if (const auto one = candidate(kernel, lists.of(kernel), launch_count)) all.push_back(*one);
  }
  std::sort(all.begin(), all.end(),
            [](const Candidate& a, const Candidate& b) { return a.gap < b.gap; });
  std::vector<Candidate> chosen;
  for (auto group = all.begin(); group != all.end();) {
    const auto end = std::find_if(
        group, all.end(), [&](const Candidate& one) { return 32 * one.gap > 33 * group->gap; });
    std::sort(group, end, [](const Candidate& a, const Candidate& b) {
      return std::pair(a.irregular, a.kernel) < std::pair(b.irregular, b.kernel);
    });
    chosen.insert(chosen.end(), group, group + std::min(end - group, kAnchorsTried));
    group = end;
  }
  return chosen;
}

// The last kernel of the iteration that is launched once in it, always, and in no evaluation; the
// cycle's own anchor is one.
std::size_t last_anchor(const std::vector<std::uint32_t>& iteration, const Cycle& cycle) {
  std::vector<std::uint32_t> times(cycle.varies.size());
  for (const std::uint32_t kernel : iteration)
    ++times[kernel];
  std::size_t last = iteration.size() - 1;
  while (times[iteration[last]] != 1 || cycle.interrupts[iteration[last]])
    --last;
  return last;
}

}  // namespace

bool IterationFinder::add(std::uint32_t symbol) {
  if (gave_up_) return false;
  const auto [entry, is_new] =
      numbers_.try_emplace(symbol, static_cast<std::uint32_t>(symbols_.size()));
  if (is_new) {
    if (symbols_.size() == kMostKernels) {
      return give_up();
    }
    symbols_.push_back(symbol);
  }
  if (launches_.size() == kMostLaunches) drop_older_half();
  launches_.push_back(entry->second);
  return launch_count() >= next_look_ && look();
}

void IterationFinder::drop_older_half() {
  const std::size_t half = launches_.size() / 2;
  launches_.erase(launches_.begin(), launches_.begin() + static_cast<std::ptrdiff_t>(half));
  dropped_ += half;
}

bool IterationFinder::give_up() {
  gave_up_ = true;
  numbers_.clear();
  launches_ = {};
  return std::exchange(found_, std::nullopt).has_value();
}

bool IterationFinder::look() {
  const std::size_t count = launches_.size();
  // At least a 32nd more each time: looking costs some passes over the launches.
  const std::uint64_t soonest = launch_count() + std::max<std::size_t>(64, count / 32);
  const std::uint64_t soon = launch_count() + std::max<std::size_t>(64, count / 12);
  next_look_ = launch_count() + std::max<std::size_t>(64, count / 4);

  const PositionLists lists(launches_, symbols_.size());
  if (found_ && still_holds(lists)) return false;
  std::size_t work = 0;
  for (const Candidate& one : candidates(lists, symbols_.size(), count)) {
    work += needed_segments(one.gap) * one.gap;
    if (work > kMostWork * count) break;
    const Positions positions = lists.of(one.kernel);
    const auto cycle = study(launches_, positions, symbols_.size());
    if (!cycle) continue;
    if (cycle->is_proven()) {
      return settle_on(*cycle, positions);
    }
    const std::size_t missing = cycle->needed - std::min(cycle->needed, cycle->regular);
    const std::uint64_t proven_at =
        launch_count() + std::max<std::size_t>(missing, 1) * cycle->length;
    next_look_ = std::min(next_look_, std::max(cycle->is_settled ? soonest : soon, proven_at));
  }
  return std::exchange(found_, std::nullopt).has_value();
}

bool IterationFinder::still_holds(const PositionLists& lists) {
  const Positions positions = lists.of(numbers_.at(found_->anchor));
  if (positions.size() < kFewestPositions) return false;
  // A long evaluation, or the end of the training.
  if (launches_.size() - positions.back() > 2 * found_->launches_per_iteration) return true;
  const auto cycle = study(launches_, positions, symbols_.size());
  return cycle && cycle->is_proven();
}

bool IterationFinder::settle_on(const Cycle& cycle, std::span<const std::uint32_t> positions) {
  const Boundary boundary = find_boundary(launches_, positions, cycle, dropped_ == 0);
  std::vector<std::uint32_t> iteration = cycle.steady;
  std::rotate(iteration.begin(),
              iteration.begin() + static_cast<std::ptrdiff_t>(boundary.steady_index),
              iteration.end());
  const auto anchor =
      iteration.begin() + static_cast<std::ptrdiff_t>(last_anchor(iteration, cycle));
  const std::uint32_t first = iteration.front();
  const auto periods = static_cast<double>(cycle.regular);
  FoundIteration found{
      .anchor = symbols_[*anchor],
      .first = symbols_[first],
      .firsts_after_anchor =
          1 + static_cast<std::size_t>(std::count(anchor + 1, iteration.end(), first)),
      .firsts_before_anchor =
          static_cast<std::size_t>(std::count(iteration.begin(), anchor + 1, first)),
      .launches_per_iteration = cycle.length,
      .periods_seen = cycle.regular,
      .confidence =
          cycle.steady_share * (periods + 1) / (periods + 2) * (boundary.is_known ? 1.0 : 0.5)};
  if (boundary.is_known) found.first_launch = dropped_ + boundary.first_launch;
  const bool is_new = !found_ || found_->anchor != found.anchor || found_->first != found.first ||
                      found_->firsts_after_anchor != found.firsts_after_anchor;
  found_ = found;
  return is_new;
}

}  // namespace inline_prof::schedule
