#include "schedule/mark_place.hpp"

#include <algorithm>
#include <vector>

namespace inline_prof::schedule {
namespace {

// The last kernels of an iteration, which are the optimizer's: of 8, one is launched only there.
constexpr std::size_t kMostTried = 8;

// Returns how often `place.behind` comes after `place.before`; counts the latter's launches.
std::size_t count_places(std::span<const std::uint32_t> iteration, MarkPlace& place) {
  std::size_t places = 0;
  bool is_behind = true;  // the iteration before was alike
  for (const std::uint32_t kernel : iteration) {
    if (kernel == place.before) {
      is_behind = true;
      ++place.befores;
    } else if (kernel == place.behind && is_behind) {
      is_behind = false;
      ++places;
    }
  }
  return places;
}

}  // namespace

std::optional<MarkPlace> find_mark_place(std::span<const std::uint32_t> iteration) {
  std::vector<std::uint32_t> tried;
  for (auto last = iteration.rbegin(); last != iteration.rend(); ++last) {
    if (*last == iteration.front()) continue;
    if (std::find(tried.begin(), tried.end(), *last) != tried.end()) continue;
    MarkPlace place{.before = *last, .behind = iteration.front()};
    if (count_places(iteration, place) == 1) return place;
    tried.push_back(*last);
    if (tried.size() == kMostTried) break;
  }
  return std::nullopt;
}

MarkFollower::Step MarkFollower::on_before() noexcept {
  is_behind_ = true;
  if (++befores_ <= expected_) return Step::kNothing;
  is_broken_ = true;
  return Step::kBroken;
}

MarkFollower::Step MarkFollower::on_behind() noexcept {
  if (!is_behind_) return Step::kNothing;
  const bool is_whole = is_at_mark();
  begin_at_call();
  is_broken_ = !is_whole;
  return is_whole ? Step::kStarts : Step::kBroken;
}

void MarkFollower::begin_at_call() noexcept {
  befores_ = 0;
  is_behind_ = false;
  is_broken_ = false;
}

}  // namespace inline_prof::schedule
