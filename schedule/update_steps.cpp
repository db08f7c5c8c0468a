#include "schedule/update_steps.hpp"

#include "schedule/iteration_follower.hpp"

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace inline_prof::schedule {
namespace {

constexpr std::size_t kFewestWithUpdates = 2048;  // as in needed_structured_segments()
constexpr std::size_t kMostPlaces = 8192;
constexpr std::size_t kFewestBetween = 24;  // launches; gradients are clipped closer to the update
constexpr std::size_t kCompared = 8;        // launches with which an iteration begins
constexpr std::size_t kMostBehind = 32;     // launches between the update and the next iteration
constexpr std::size_t kMostTurns = 16;      // networks, and their updates, in an iteration
constexpr double kMostAlike = 0.9;          // of the groups
constexpr double kMostConfident = 0.88;

// A group of launches that update parameters.
struct Update {
  std::size_t begin = 0;
  std::size_t end = 0;  // behind its last launch
};

std::vector<Update> updates_of(const LaunchLog& log, Allowance& allowance) {
  std::vector<std::size_t> places;
  for (std::size_t kernel = 0; kernel < log.kernel_count(); ++kernel) {
    if (!log.updates(kernel)) continue;
    for (std::uint32_t at = log.last_of(kernel); at != LaunchLog::kNone; at = log.before(at)) {
      if (places.size() == kMostPlaces) return {};
      places.push_back(at);
    }
  }
  std::ranges::sort(places);
  allowance -= static_cast<Allowance>(2 * places.size());
  const Launches all = log.launches();
  std::vector<Update> result;
  for (const std::size_t place : places) {
    std::size_t end = place + 1;
    while (end < all.size() && all[end] == all[place])
      ++end;
    const bool is_near =
        !result.empty() && place - result.back().end < kFewestBetween &&
        log.weight_of(all.subspan(result.back().end, place - result.back().end)) < kFewestBetween;
    if (!is_near) result.push_back({.begin = place});
    result.back().end = end;
  }
  // More launches of the last one may be to come.
  if (!result.empty() && result.back().end + kMostBehind + kCompared > all.size())
    result.pop_back();
  return result;
}

// Returns the value that comes most often, and how often.
std::pair<std::size_t, std::size_t> most_frequent(const std::vector<std::size_t>& values) {
  std::map<std::size_t, std::size_t> times;
  for (const std::size_t value : values)
    ++times[value];
  return *std::ranges::max_element(
      times, [](const auto& a, const auto& b) { return a.second < b.second; });
}

bool are_most(std::size_t some, std::size_t all) {
  return static_cast<double>(some) >= kMostAlike * static_cast<double>(all);
}

// Returns true if half of those that have not the usual length are parts of one that has it, its
// end or its two halves: the last iteration of an epoch has fewer micro-steps.
bool have_fewer_micro_steps(const LaunchLog& log, const std::vector<Update>& updates,
                            const std::vector<std::size_t>& lengths, std::size_t usual) {
  const auto first_usual = std::ranges::find(lengths, usual) - lengths.begin();
  const Update* const like = &updates[static_cast<std::size_t>(first_usual)];
  std::size_t unusual = 0;
  std::size_t shorter = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    unusual += lengths[i] == usual ? 0U : 1U;
    if (lengths[i] >= usual) continue;
    const auto begins_alike = [&](std::size_t compared) {
      const std::size_t begin = updates[i].end;
      return log.hash(begin, begin + compared) == log.hash(like->end, like->end + compared);
    };
    const auto ends_alike = [&](std::size_t compared) {
      const std::size_t end = updates[i + 1].end;
      return log.hash(end - compared, end) == log.hash(like[1].end - compared, like[1].end);
    };
    // Launches that come once, at the beginning, may be missing in front of the end.
    const std::size_t half = lengths[i] / 2;
    if ((half >= kMostBehind && ends_alike(lengths[i] - kMostBehind)) ||
        (begins_alike(half) && ends_alike(half)))
      ++shorter;
  }
  return shorter != 0 && 2 * shorter >= unusual;
}

// Returns true if the lengths, from one update to the next, tell that updates are no iterations:
// most are equal, so that other searches find more, or they alternate, as those of two networks do.
bool repeat(const LaunchLog& log, const std::vector<Update>& updates,
            const std::vector<std::size_t>& lengths) {
  const auto [usual, times] = most_frequent(lengths);
  if (5 * times > 3 * lengths.size()) return !have_fewer_micro_steps(log, updates, lengths, usual);
  for (std::size_t turns = 2; turns <= kMostTurns && 2 * turns <= lengths.size(); ++turns) {
    std::size_t equal = 0;
    for (std::size_t i = turns; i < lengths.size(); ++i)
      equal += lengths[i] == lengths[i - turns] ? 1U : 0U;
    if (are_most(equal, lengths.size() - turns)) return true;
  }
  return false;
}

// The next iteration begins with the launches that the first one begins with.
struct Beginning {
  std::size_t behind_update = kMostBehind;  // launches; kMostBehind: none is known
  std::size_t first_launch = 0;             // of the first iteration
};

Beginning beginning(const LaunchLog& log, std::size_t first_update, std::size_t end_of_update,
                    Allowance& allowance) {
  std::array<std::uint64_t, kMostBehind> hashes{};
  for (std::size_t i = 0; i < kMostBehind; ++i)
    hashes[i] = log.hash(end_of_update + i, end_of_update + i + kCompared);
  allowance -= static_cast<Allowance>(2 * first_update);
  Beginning result;
  for (std::size_t i = 0; i + kCompared <= first_update; ++i) {
    const auto end = hashes.begin() + static_cast<std::ptrdiff_t>(result.behind_update);
    const auto same = std::find(hashes.begin(), end, log.hash(i, i + kCompared));
    if (same == end) continue;
    result = {.behind_update = static_cast<std::size_t>(same - hashes.begin()), .first_launch = i};
  }
  return result;
}

// Counts the updates behind which a follower begins an iteration where it should.
std::size_t followed(const Launches& all, const std::vector<Update>& updates,
                     const FoundIteration& found, std::size_t behind_update) {
  const std::size_t begin = updates.front().begin;
  std::vector<std::size_t> due;
  due.reserve(updates.size());
  for (const Update& update : updates)
    due.push_back(update.end + behind_update - begin);
  const auto starts = starts_in(all.subspan(begin, updates.back().end - begin), found);
  if (starts.size() >= updates.size()) return 0;
  return static_cast<std::size_t>(std::ranges::count_if(starts, [&](std::size_t start) {
    return std::binary_search(due.begin(), due.end(), start);
  }));
}

}  // namespace

std::optional<FoundIteration> iteration_between_updates(const LaunchLog& log,
                                                        Allowance& allowance) {
  const Launches all = log.launches();
  if (log.weight_of(all) < kFewestWithUpdates) return std::nullopt;
  const std::vector<Update> updates = updates_of(log, allowance);
  if (updates.size() < 2) return std::nullopt;
  const std::size_t count = updates.size() - 1;
  const std::size_t launches =
      log.weight_of(all.subspan(updates.front().end, updates.back().end - updates.front().end));
  if (count < needed_structured_segments(launches / count)) return std::nullopt;

  std::vector<std::size_t> last_kernels;
  std::vector<std::size_t> sizes;
  std::vector<std::size_t> lengths;
  for (std::size_t i = 1; i <= count; ++i) {
    last_kernels.push_back(all[updates[i].end - 1]);
    sizes.push_back(updates[i].end - updates[i].begin);
    lengths.push_back(updates[i].end - updates[i - 1].end);
  }
  const auto [anchor, ends] = most_frequent(last_kernels);
  if (!are_most(std::min(ends, most_frequent(sizes).second), count) ||
      repeat(log, updates, lengths))
    return std::nullopt;

  const std::size_t end = updates.back().end;
  const Beginning begin = beginning(log, updates.front().begin, end, allowance);
  if (begin.behind_update == kMostBehind || last_kernels.back() != anchor) return std::nullopt;
  const Launches behind = all.subspan(end, begin.behind_update);
  FoundIteration found{.anchor = static_cast<std::uint32_t>(anchor),
                       .first = all[end + begin.behind_update],
                       .firsts_before_anchor = 0,
                       .launches_per_iteration = launches / count,
                       .periods_seen = count,
                       .first_launch = log.dropped() + begin.first_launch};
  found.firsts_after_anchor += static_cast<std::size_t>(std::ranges::count(behind, found.first));
  allowance -= static_cast<Allowance>(all.size());
  const std::size_t right = followed(all, updates, found, begin.behind_update);
  if (!are_most(right, count)) return std::nullopt;
  const auto periods = static_cast<double>(right);
  found.confidence = std::min(periods / static_cast<double>(count + 1), kMostConfident);
  return found;
}

}  // namespace inline_prof::schedule
