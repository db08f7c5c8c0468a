#include "schedule/iteration_boundary.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace inline_prof::schedule {
namespace {

// Follows the cycle backwards from an anchor, round and round, through launches that may have some
// more or some fewer than it.  The boundary is where the score was best: launches of one kernel in
// a row that fit count one (a graph as many as it has kernels), a gap more than the short matches
// that chance gives in what is no part of the cycle, and a launch that is missing one more.
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
    bool lacks_some = false;  // launches of the cycle, within the first one
  };

  [[nodiscard]] Extent best() {
    Extent best;
    double best_score = 0;
    std::uint32_t of_row = LaunchLog::kNone;  // the kernel of the launch behind
    score_ = 0;
    while (at_.launches < before_.size()) {
      if (cycle_.varies[launch(0)]) {
        ++at_.launches;
      } else if (launch(0) == steady(0)) {
        if (log_.weight(launch(0)) != 1 || steady(0) != of_row) score_ += log_.weight(launch(0));
        of_row = steady(0);
        ++at_.launches;
        ++at_.steady;
        if (score_ >= best_score) {
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
  static constexpr std::size_t kMostMissing = 4;
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
    for (std::size_t i = 0; i < sure; ++i, ++launches) {
      while (at_.launches + launches < before_.size() && cycle_.varies[launch(launches)])
        ++launches;
      if (at_.launches + launches >= before_.size()) return i > 0;
      if (launch(launches) != steady(steadies + i)) return false;
    }
    return true;
  }

  // Crosses the shortest gap on either side behind which the two continue together.  An optimizer
  // sets up its state with many launches of one kernel, before which the first backward pass may
  // lack launches, too.
  [[nodiscard]] bool cross_gap() {
    score_ -= gap_cost_ / ++gaps_;
    const std::size_t most_missing = is_set_up() ? kMostMissing : 0;
    const std::size_t longest =
        std::min(kLongestGap, std::max(before_.size() - at_.launches, cycle_.steady.size()));
    for (std::size_t gap = 1; gap <= longest; ++gap) {
      for (std::size_t missing = 0; missing <= std::min(gap, most_missing); ++missing) {
        if (cross(gap, missing)) return true;
      }
      if (cross(0, gap)) return true;
    }
    return false;
  }
  [[nodiscard]] bool is_set_up() const {
    constexpr std::size_t fewest = 8;
    if (at_.launches + fewest > before_.size()) return false;
    for (std::size_t i = 1; i < fewest; ++i) {
      if (launch(i) != launch(0)) return false;
    }
    return true;
  }
  [[nodiscard]] bool cross(std::size_t launches, std::size_t steadies) {
    if (steadies >= cycle_.steady.size() || !matches(launches, steadies)) return false;
    for (std::size_t i = 0; i < steadies; ++i)
      score_ -= static_cast<double>(log_.weight(steady(i)));
    at_.launches += launches;
    at_.steady += steadies;
    at_.lacks_some = at_.lacks_some || steadies > kMostMissing;
    return true;
  }

  const LaunchLog& log_;
  Launches before_;
  const Cycle& cycle_;
  double gap_cost_;
  Extent at_{};
  double score_ = 0;
  int gaps_ = 0;
};

// Places in the cycle, round and round.
class Round {
 public:
  explicit Round(std::size_t size) : size_(size) {}
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t distance(std::size_t from, std::size_t to) const {
    return (to + size_ - from) % size_;
  }
  [[nodiscard]] std::size_t behind(std::size_t place, std::size_t by) const {
    return (place + by) % size_;
  }

 private:
  std::size_t size_;
};

// Returns the launches, those of graphs included, from a place of the cycle on.
std::size_t weight_between(const LaunchLog& log, const Cycle& cycle, std::size_t from,
                           std::size_t count) {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < count; ++i)
    sum += log.weight(cycle.steady[(from + i) % cycle.steady.size()]);
  return sum;
}

// Returns true if no launches before begin as the first iteration does.
bool is_new(const LaunchLog& log, std::size_t first) {
  constexpr std::size_t compared = 4;
  const std::uint64_t begin = log.hash(first, first + compared);
  for (std::size_t i = 0; i < first; ++i) {
    if (log.hash(i, i + compared) == begin) return false;
  }
  return log.dropped() == 0;
}

// The most that may come before the first whole iteration: a share of the launches between two
// waits.
constexpr double kMostInCommon = 0.2;
// The most that an iteration and what comes before the first one end with, likewise: an optimizer's
// step, before steps are captured in a graph.
constexpr double kLongestEnd = 0.3;
constexpr double kNearly = 0.05;  // likewise, of launches before the wait
// Launches behind a wait that the first iteration may be found to lack; likewise.
constexpr std::size_t kMostMissed = 2;

Boundary behind_wait(const LaunchLog& log, const Cycle& cycle, Boundary boundary) {
  const Round round(cycle.steady.size());
  std::size_t to_next = round.size();
  std::size_t from_last = round.size();
  for (const std::size_t wait : cycle.waits) {
    to_next = std::min(to_next, round.distance(boundary.steady_index, wait));
    from_last = std::min(from_last, round.distance(wait, boundary.steady_index));
  }
  const std::size_t last = round.behind(boundary.steady_index, round.size() - from_last);
  const std::size_t early = weight_between(log, cycle, boundary.steady_index, to_next);
  const std::size_t behind = weight_between(log, cycle, last, from_last);
  const auto at = std::find_if(log.waits().begin(), log.waits().end(), [&](std::size_t wait) {
    return wait >= boundary.first_launch && !log.is_by_other_thread(wait);
  });
  const bool is_behind_one = at != log.waits().end() && *at == boundary.first_launch;
  const double between = static_cast<double>(early + behind);
  // The first iteration lacks some launches behind the wait. Where nothing is trained, what the
  // host does with a result ends an iteration.
  if (early != 0 && ((behind <= kMostMissed && !log.turns().empty()) ||
                     (is_behind_one && static_cast<double>(behind) <= kMostInCommon * between))) {
    boundary.steady_index = last;
    return boundary;
  }
  // True if no launch before might look like the end of an iteration, or if the host waited for it.
  const bool begins_there = boundary.first_launch + log.dropped() == 0 || is_behind_one;
  if (early == 0 ||
      (boundary.is_known && (begins_there || static_cast<double>(early) > kLongestEnd * between)))
    return boundary;
  if (at == log.waits().end()) return boundary;
  // A set-up's end is told from an iteration's, unless a wait tells nearly the same.
  if (boundary.is_known && static_cast<double>(early) > kNearly * between &&
      is_new(log, boundary.first_launch) &&
      (!log.turns().empty() || is_behind_others(log, boundary.first_launch, cycle)))
    return boundary;
  return {.first_launch = *at,
          .steady_index = round.behind(boundary.steady_index, to_next),
          .is_known = true};
}

// Launches; a decoder's pass for a token may have fewer, after prompts of the same kernels.
constexpr std::size_t kFewestOfTraining = 24;

// An optimizer's step: all kernels of the cycle that update parameters.
struct Updates {
  std::vector<std::size_t> ends;  // places of the cycle behind a step: two networks have two
  std::size_t end = 0;            // the one before the longest part without updates
  bool is_short = false;          // from the first step behind that part to this one
};

Updates updates_in(const LaunchLog& log, const Cycle& cycle) {
  constexpr std::size_t fewest_between = 24;  // launches, between the steps of two networks
  const std::size_t size = cycle.steady.size();
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < size; ++i) {
    if (log.updates(cycle.steady[i])) places.push_back(i);
  }
  Updates result;
  if (places.empty()) return result;
  places.push_back(places.front() + size);
  std::size_t widest = 0;
  std::size_t begin = 0;
  for (std::size_t i = 1; i < places.size(); ++i) {
    const std::size_t gap = places[i] - places[i - 1];
    const std::size_t end = (places[i - 1] + 1) % size;
    if (gap > fewest_between) result.ends.push_back(end);
    if (gap <= widest) continue;
    widest = gap;
    begin = places[i] % size;
    result.end = end;
  }
  // A part is short if it has few of the launches, those of graphs included.
  const std::size_t updates = weight_between(log, cycle, begin, size - widest + 1);
  result.is_short = 2 * updates <= log.weight_of(cycle.steady);
  return result;
}

// Returns the launch of the first regular segment that is at this place of the cycle.
std::size_t launch_at(const LaunchLog& log, std::size_t begin, const Cycle& cycle,
                      std::size_t place) {
  std::size_t launch = begin;
  for (std::size_t steady = 0; launch + 1 < log.launches().size(); ++launch) {
    if (cycle.varies[log.launches()[launch]]) continue;
    if (steady++ == place) break;
  }
  return launch;
}

// Returns true for launches that a loop over the parameters makes: their averages, or a second
// network that follows the first.
bool is_loop_over_parameters(const LaunchLog& log, const Cycle& cycle, std::size_t from,
                             std::size_t count) {
  constexpr std::size_t most_kernels = 4;
  std::vector<std::uint32_t> kernels;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t kernel = cycle.steady[(from + i) % cycle.steady.size()];
    if (std::ranges::find(kernels, kernel) != kernels.end()) continue;
    if (kernels.size() == most_kernels || log.weight(kernel) != 1) return false;
    kernels.push_back(kernel);
  }
  return true;
}

// An iteration ends with an optimizer's step, and what little comes between that and the next wait
// of the host. A boundary that the launches before the iterations tell is right if it lies there.
Boundary behind_updates(const LaunchLog& log, std::size_t first_regular, const Cycle& cycle,
                        const Updates& updates, const Boundary& boundary) {
  const std::size_t size = cycle.steady.size();
  const Round round(size);
  const auto most =
      static_cast<std::size_t>(kMostInCommon * static_cast<double>(log.weight_of(cycle.steady)));
  const auto is_near = [&](std::size_t from, std::size_t by) {
    return weight_between(log, cycle, from, by) <= most;
  };
  const auto to_wait_from = [&](std::size_t place) {
    std::size_t result = size;
    for (const std::size_t wait : cycle.waits)
      result = std::min(result, round.distance(place, wait));
    return result;
  };
  std::size_t behind = round.distance(updates.end, boundary.steady_index);
  for (const std::size_t end : updates.ends)
    behind = std::min(behind, round.distance(end, boundary.steady_index));
  const std::size_t end_before = round.behind(boundary.steady_index, size - behind);
  const bool lies_there =
      boundary.is_known && ((behind <= to_wait_from(end_before) && is_near(end_before, behind)) ||
                            is_loop_over_parameters(log, cycle, end_before, behind));
  const std::size_t to_wait = to_wait_from(updates.end);
  if (lies_there && (!is_near(updates.end, to_wait) || is_new(log, boundary.first_launch)))
    return boundary;
  const std::size_t place =
      is_near(updates.end, to_wait) ? round.behind(updates.end, to_wait) : updates.end;
  return {.first_launch = launch_at(log, first_regular, cycle, place),
          .steady_index = place,
          .is_known = true};
}

// Returns the place of the cycle from which the program's first launches follow it, if it is at
// least a quarter of the cycle that they follow: a program without a set-up begins with an
// iteration, whose rest may differ from the others.
std::optional<std::size_t> begun_at_once(Launches before, const Cycle& cycle) {
  constexpr std::size_t fewest = 8;
  constexpr std::size_t enough = 256;
  const std::size_t size = cycle.steady.size();
  const std::size_t compared = std::min({before.size(), size, enough});
  std::size_t longest = std::clamp(size / 4, fewest, enough);
  std::optional<std::size_t> result;
  for (std::size_t place = 0; place < size; ++place) {
    std::size_t same = 0;
    while (same < compared && before[same] == cycle.steady[(place + same) % size])
      ++same;
    if (same < longest) continue;
    longest = same + 1;
    result = place;
  }
  return result;
}

Boundary from_launches(const LaunchLog& log, std::span<const std::uint32_t> positions,
                       const Cycle& cycle) {
  const Launches launches = log.launches();
  const std::size_t first = cycle.first_segment;
  const Launches before = launches.first(positions[first]);
  const auto extent = Alignment(log, before, cycle).best();
  if (extent.launches == before.size() && log.dropped() != 0) {
    return {.first_launch = positions[first] + 1, .steady_index = 1, .is_known = false};
  }
  if (log.dropped() == 0 && extent.launches < before.size() &&
      before.size() - extent.launches < cycle.steady.size()) {
    if (const auto place = begun_at_once(before, cycle))
      return {.first_launch = 0, .steady_index = *place, .is_known = true};
  }
  const std::size_t index = cycle.steady.size() - extent.steady % cycle.steady.size();
  return {.first_launch = positions[first] - extent.launches,
          .steady_index = index == cycle.steady.size() ? 0 : index,
          .is_known = true,
          .is_sure = !extent.lacks_some};
}

// Returns true if a kernel of the cycle is launched for the first time in the first iteration.
bool has_new_kernel(const LaunchLog& log, std::size_t first, const Cycle& cycle) {
  std::vector<bool> is_met(log.kernel_count());
  for (const std::uint32_t kernel : log.launches().first(first))
    is_met[kernel] = true;
  return std::ranges::any_of(cycle.steady, [&](std::uint32_t kernel) { return !is_met[kernel]; });
}

// Returns the launches of the last iterations that are at this place of the cycle.
std::vector<std::uint32_t> last_launches_at(const LaunchLog& log,
                                            std::span<const std::uint32_t> positions,
                                            const Cycle& cycle, std::size_t place) {
  constexpr std::size_t looked_at = 16;
  const std::size_t last = positions.size() - 1;
  std::vector<std::uint32_t> result;
  for (std::size_t i = std::max(cycle.first_segment, last - std::min(last, looked_at)); i < last;
       ++i)
    result.push_back(static_cast<std::uint32_t>(launch_at(log, positions[i], cycle, place)));
  return result;
}

// Lets the iterations begin with the launches that all of them have before the first steady one,
// of which `starts` are the last ones, though their kernels vary otherwise.
void begin_with_varying(const LaunchLog& log, const Cycle& cycle, std::vector<std::uint32_t> starts,
                        Boundary& boundary) {
  const Launches launches = log.launches();
  std::size_t first = boundary.first_launch;
  while (cycle.varies[launches[first]])
    ++first;
  std::size_t count = 0;
  const auto is_one_more = [&] {
    const std::uint32_t kernel = launches[first - 1 - count];
    return cycle.varies[kernel] && std::ranges::all_of(starts, [&](std::size_t start) {
             return start > count && launches[start - 1 - count] == kernel;
           });
  };
  while (count < first &&
         (!std::binary_search(log.waits().begin(), log.waits().end(), first - count) ||
          log.is_by_other_thread(first - count)) &&
         is_one_more())
    ++count;
  boundary.first_launch = first - count;
  if (count == 0) return;
  for (std::uint32_t& start : starts)
    start -= static_cast<std::uint32_t>(count);
  boundary.starts = std::move(starts);
}

// Returns true if launches that vary come right before many of `starts`, the first steady ones of
// iterations: these may be the iteration's, such as what is done to some batches at random.
bool are_often_behind_varying(const LaunchLog& log, const Cycle& cycle,
                              const std::vector<std::uint32_t>& starts) {
  const auto behind = static_cast<std::size_t>(std::ranges::count_if(starts, [&](auto start) {
    return start != 0 && cycle.varies[log.launches()[start - 1]] &&
           !std::binary_search(log.waits().begin(), log.waits().end(), start);
  }));
  return 4 * behind >= starts.size();
}

// Returns the places of the cycle behind which the thread changes.
std::vector<std::size_t> turns_of(const LaunchLog& log, std::span<const std::uint32_t> positions,
                                  const Cycle& cycle) {
  std::vector<std::size_t> places;
  for (std::size_t i = positions.size() - 1; i > 0; --i) {
    if (positions[i] - positions[i - 1] != cycle.steady.size()) continue;
    for (const std::uint32_t turn : log.turns()) {
      if (turn >= positions[i - 1] && turn < positions[i])
        places.push_back(turn - positions[i - 1]);
    }
    break;
  }
  return places;
}

// Returns true if the cycle may be several iterations, and an evaluation or a further step of one
// network behind some of them: most of it repeats what updates parameters, has a backward pass, or
// is waited for, and the rest has hardly other kernels. It is one iteration if it begins with a
// rest without updates: a policy plays before it is trained.
bool holds_iterations(const LaunchLog& log, std::span<const std::uint32_t> positions,
                      const Cycle& cycle, const Updates& updates, std::size_t begin) {
  constexpr std::size_t fewest_times = 3;
  constexpr std::size_t fewest_of_evaluation = 9;  // kernels: an optimizer's loop has fewer
  const std::size_t size = cycle.steady.size();
  const std::size_t length = cycle.inner_length;
  if (length == 0) return false;
  const Round round(size);
  std::size_t run = 0;
  std::size_t longest = 0;
  std::size_t end = 0;
  for (std::size_t i = 0; i < 2 * size; ++i) {
    run = cycle.steady[i % size] == cycle.steady[(i + length) % size] ? run + 1 : 0;
    if (run <= longest) continue;
    longest = run;
    end = i + 1;
  }
  const std::size_t times = (longest + length) / length;
  const std::size_t covered = times * length;
  if (times < fewest_times || covered >= size) return false;
  const std::size_t part = round.behind(end, size - longest);
  const auto count = [&](const std::vector<std::size_t>& places, std::size_t from,
                         std::size_t most) {
    return static_cast<std::size_t>(std::ranges::count_if(places, [&](std::size_t place) {
      return round.distance(round.behind(part, from), place) < most;
    }));
  };
  std::vector<bool> is_inside(log.kernel_count());
  bool updates_inside = false;
  for (std::size_t i = 0; i < length; ++i) {
    const std::uint32_t kernel = cycle.steady[round.behind(part, i)];
    is_inside[kernel] = true;
    updates_inside = updates_inside || log.updates(kernel);
  }
  std::vector<bool> is_met(log.kernel_count());
  bool trains = false;
  std::size_t kernels = 0;
  std::size_t known_kernels = 0;
  for (std::size_t i = covered; i < size; ++i) {
    const std::uint32_t kernel = cycle.steady[round.behind(part, i)];
    trains = trains || log.updates(kernel);
    if (is_met[kernel]) continue;
    is_met[kernel] = true;
    ++kernels;
    known_kernels += is_inside[kernel] ? 1U : 0U;
  }
  const std::vector<std::size_t> turns = turns_of(log, positions, cycle);
  if (trains || count(turns, covered, size - covered) > 1)
    return known_kernels == kernels && count(updates.ends, 0, length) > 1;
  if (!turns.empty() && round.distance(round.behind(part, covered), begin) < size - covered)
    return false;
  // Steps of an optimizer whose kernels have no names of their own.
  for (std::size_t i = 0; i + kFewestOfTraining <= length; ++i) {
    if (is_loop_over_parameters(log, cycle, round.behind(part, i), kFewestOfTraining)) return true;
  }
  return updates_inside ||
         (kernels >= fewest_of_evaluation && 2 * known_kernels >= kernels &&
          (count(turns, 0, covered) >= 2 * times || count(cycle.waits, 0, covered) >= times));
}

// Returns true if a row of launches of one kernel begins in the set-up and goes on in the first
// iteration: it may end an iteration as well.
bool is_in_row(const LaunchLog& log, std::size_t first) {
  constexpr std::size_t longest = 2;  // copies of a batch
  const Launches launches = log.launches();
  const auto begin = launches.begin() + static_cast<std::ptrdiff_t>(first);
  return first != 0 && std::all_of(begin, begin + longest + 1, [&](std::uint32_t kernel) {
           return kernel == launches[first - 1];
         });
}

}  // namespace

Boundary find_boundary(const LaunchLog& log, std::span<const std::uint32_t> positions,
                       const Cycle& cycle) {
  Boundary boundary = from_launches(log, positions, cycle);
  const bool lacks_none = boundary.is_sure;
  const auto is_behind_wait = [&] {
    return std::binary_search(log.waits().begin(), log.waits().end(), boundary.first_launch) &&
           !log.is_by_other_thread(boundary.first_launch);
  };
  const auto updates = updates_in(log, cycle);
  const Launches before = log.launches().first(boundary.first_launch);
  const bool is_trained_before =
      log.dropped() != 0 ||
      std::ranges::any_of(before, [&](std::uint32_t kernel) { return log.updates(kernel); });
  const bool is_told_by_launches =
      boundary.is_known && !is_trained_before &&
      (boundary.first_launch == 0 ||
       (is_behind_wait() && !log.updates(cycle.steady[boundary.steady_index]) &&
        (!updates.is_short || is_new(log, boundary.first_launch))));
  if (!is_told_by_launches && updates.is_short) {
    boundary = behind_updates(log, positions[cycle.first_segment], cycle, updates, boundary);
  } else if (!is_told_by_launches && !cycle.waits.empty()) {
    boundary = behind_wait(log, cycle, boundary);
  }
  const auto starts = last_launches_at(log, positions, cycle, boundary.steady_index);
  begin_with_varying(log, cycle, starts, boundary);
  const std::size_t first = boundary.first_launch;
  const std::size_t at = boundary.starts.empty() ? launch_at(log, positions[cycle.first_segment],
                                                             cycle, boundary.steady_index)
                                                 : boundary.starts.front();
  const bool is_behind_steady = at == 0 || !cycle.varies[log.launches()[at - 1]];
  // Any step of several networks that are updated in turn may be the last.
  const bool is_behind_any = is_trained_before && !updates.is_short && updates.ends.size() > 1;
  boundary.is_sure =
      first + log.dropped() == 0 || (updates.is_short && !is_told_by_launches) ||
      (is_behind_steady && lacks_none && is_new(log, first)) ||
      (is_behind_wait() && (log.dropped() != 0 || has_new_kernel(log, first, cycle) ||
                            cycle.steady.size() < kFewestOfTraining));
  boundary.is_sure = boundary.is_sure && !is_behind_any &&
                     (!boundary.starts.empty() || !are_often_behind_varying(log, cycle, starts)) &&
                     (is_behind_wait() || !is_in_row(log, first)) &&
                     !holds_iterations(log, positions, cycle, updates, boundary.steady_index);
  return boundary;
}

bool is_behind_others(const LaunchLog& log, std::size_t first, const Cycle& cycle) {
  constexpr std::size_t looked_at = 8;
  const Launches last =
      log.launches().subspan(first - std::min(first, looked_at), std::min(first, looked_at));
  if (std::adjacent_find(last.begin(), last.end(), std::not_equal_to<>()) == last.end())
    return true;
  return std::ranges::none_of(last, [&](std::uint32_t kernel) {
    return cycle.varies[kernel] || std::ranges::find(cycle.steady, kernel) != cycle.steady.end();
  });
}

}  // namespace inline_prof::schedule
