#include "schedule/iteration_finder.hpp"

#include "schedule/iteration_boundary.hpp"
#include "schedule/iteration_follower.hpp"
#include "schedule/recurrence.hpp"
#include "schedule/update_steps.hpp"

#include <algorithm>
#include <utility>

namespace inline_prof::schedule {
namespace {

constexpr std::size_t kFewestPositions = 5;
constexpr std::size_t kGapsLookedAt = 32;
constexpr std::ptrdiff_t kAnchorsTried = 8;     // of those at nearly the same distance
constexpr std::size_t kFewestBetweenLooks = 8;  // launches; of graphs, too
constexpr std::size_t kMostBetweenLooks = 16384;
constexpr std::size_t kTimesLookedBack = 3;  // as many segments as are needed
constexpr std::size_t kEnoughAlike = 2;
constexpr std::ptrdiff_t kAnchorsLookedInto = 3;  // launch by launch
constexpr std::size_t kShortestStructured = 16;   // launches, some of them three times
constexpr std::size_t kFewestLaunches = 2048;  // for any answer: needed_structured_segments() ...
constexpr std::uint32_t kMostEarning = 128;    // of a graph's kernels
constexpr std::size_t kFewestPaced = 200;      // ... or needed_paced_segments(), of 10 launches
// Accumulations have up to 16 micro-steps, as a rule, and up to 64.
constexpr double kMostWhereMicroSteps = 0.88;
constexpr std::size_t kUsualMicroSteps = 16;
constexpr double kMostWhereManyMicroSteps = 0.9;
constexpr std::size_t kMostMicroSteps = 64;
constexpr double kMostWhereUneven = 0.85;
constexpr double kMostlySteady = 0.75;  // of the launches do not vary
constexpr double kDoubtful = 0.45;
constexpr double kMostWhereBothFit = 0.84;        // the iteration and a part of it that ...
constexpr double kBothFit = 0.9;                  // ... comes again and again in this share of it
constexpr std::size_t kFewestOfGradients = 1024;  // bytes; losses and counts are fewer
constexpr std::size_t kFewestGiven = 32;  // launches that repeat, where three iterations are fewer

struct Gaps {
  std::size_t median = 0;
  std::size_t irregular = 0;
};

// Returns nothing if they are not nearly equal. Sorts `gaps`.
std::optional<Gaps> regular_gaps(std::vector<std::size_t>& gaps, std::size_t since_last) {
  if (gaps.size() + 1 < kFewestPositions) return std::nullopt;
  std::size_t least = gaps.front();
  std::size_t most = gaps.front();
  for (const std::size_t gap : gaps) {
    least = std::min(least, gap);
    most = std::max(most, gap);
  }
  if (since_last > 2 * most) return std::nullopt;
  if (least == most) return Gaps{.median = most};
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::nth_element(gaps.begin(), middle, gaps.end());
  const std::size_t gap = *middle;
  // A kernel that has not been launched for two rounds is no longer a candidate.
  if (since_last > 2 * gap) return std::nullopt;
  const auto irregular = static_cast<std::size_t>(std::ranges::count_if(
      gaps, [&](std::size_t g) { return 4 * g < 3 * gap || 4 * g > 5 * gap; }));
  if (5 * irregular > 2 * gaps.size()) return std::nullopt;
  // An anchor with short gaps comes in what interrupts the iterations, too: others tell more.
  const auto shorter = static_cast<std::size_t>(
      std::ranges::count_if(gaps, [&](std::size_t g) { return 4 * g < 3 * gap; }));
  return Gaps{.median = gap, .irregular = irregular + shorter};
}

struct LastLaunch {
  std::size_t place = 0;
  bool is_group = false;
};

// Returns the last launches of kernels that are launched once in the iteration, or several times
// without the first one in between, and in no evaluation; the last one first.
std::vector<LastLaunch> anchors_of(const std::vector<std::uint32_t>& iteration,
                                   const Cycle& cycle) {
  std::vector<std::uint32_t> times(cycle.varies.size());
  std::vector<std::size_t> firsts_before(times.size());
  std::vector<bool> is_anchor(times.size());
  std::size_t firsts = 0;
  for (const std::uint32_t kernel : iteration) {
    if (kernel == iteration.front()) ++firsts;
    if (times[kernel]++ == 0) firsts_before[kernel] = firsts;
    is_anchor[kernel] = !cycle.interrupts[kernel] && (times[kernel] == 1 || is_anchor[kernel]) &&
                        firsts_before[kernel] == firsts;
  }
  std::vector<LastLaunch> result;
  for (std::size_t place = iteration.size(); place-- > 0;) {
    const std::uint32_t kernel = iteration[place];
    if (!is_anchor[kernel]) continue;
    result.push_back({.place = place, .is_group = times[kernel] != 1});
    is_anchor[kernel] = false;
  }
  return result;
}

struct Word {
  std::uint32_t kernel = 0;
  std::vector<bool> letters{};
};

bool is_repetition(const std::vector<bool>& word) {
  for (std::size_t part = 1; 2 * part <= word.size(); ++part) {
    if (word.size() % part == 0 &&
        std::equal(word.begin() + static_cast<std::ptrdiff_t>(part), word.end(), word.begin()))
      return true;
  }
  return false;
}

// Finds the kernel whose launches, together with those of the iteration's first one, tell soonest
// the position in the iteration. `may_repeat`: of several equal positions, any will do.
std::optional<Word> shortest_word(const std::vector<std::uint32_t>& iteration,
                                  std::size_t kernel_count, bool may_repeat) {
  const std::uint32_t first = iteration.front();
  std::vector<std::size_t> times(kernel_count);
  for (const std::uint32_t kernel : iteration)
    ++times[kernel];
  std::vector<std::uint32_t> others;
  for (std::uint32_t kernel = 0; kernel < times.size(); ++kernel) {
    if (kernel != first && times[kernel] != 0 &&
        times[kernel] + times[first] <= IterationFollower::kLongestWord)
      others.push_back(kernel);
  }
  std::ranges::sort(others, [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(times[a], a) < std::pair(times[b], b);
  });
  for (const std::uint32_t other : others) {
    Word word{.kernel = other};
    for (const std::uint32_t kernel : iteration) {
      if (kernel == first || kernel == other) word.letters.push_back(kernel == first);
    }
    if (may_repeat || !is_repetition(word.letters)) return word;
  }
  return std::nullopt;
}

double confidence_of(const Cycle& cycle, bool boundary_is_known, bool boundary_is_sure) {
  const auto periods = static_cast<double>(cycle.regular);
  double confidence = (periods + 1) / (periods + 2);
  if (cycle.steady_share < kMostlySteady) {
    confidence *= kMostWhereUneven;
  } else {
    confidence *= cycle.steady_share;
  }
  if (cycle.regular < kMostMicroSteps) confidence = std::min(confidence, kMostWhereManyMicroSteps);
  if (cycle.regular <= kUsualMicroSteps) confidence = std::min(confidence, kMostWhereMicroSteps);
  if (cycle.inner_share >= kBothFit) confidence = std::min(confidence, kMostWhereBothFit);
  if (cycle.may_be_part || !boundary_is_sure) confidence = std::min(confidence, kDoubtful);
  return boundary_is_known ? confidence : 0.5 * confidence;
}

}  // namespace

IterationFinder::Added IterationFinder::append(std::uint32_t symbol, std::uint32_t kernels,
                                               bool updates) {
  if (gave_up_) return Added::kQuietly;
  const std::uint32_t kernel = log_.number_of(symbol);
  if (kernel == kMostKernels) return give_up() ? Added::kAndChanged : Added::kQuietly;
  log_.append(kernel, kernels, updates);
  if (period_ != 0) return given_is_seen() ? Added::kAndIsDue : Added::kQuietly;
  allowance_ += kWorkALaunch * static_cast<Allowance>(std::clamp(kernels, 1U, kMostEarning));
  seen_ += kernels;
  if (seen_ < (log_.is_paced() ? kFewestPaced : kFewestLaunches)) return Added::kQuietly;
  if (kernel == awaited_ && awaited_runs_ > 0 && log_.runs(kernel) >= awaited_runs_) {
    awaited_runs_ = 0;
    next_look_ = launch_count();
  }
  const bool is_due = (seen_ >= next_look_at_seen_ || launch_count() >= next_look_) &&
                      launch_count() >= soonest_look_ &&
                      allowance_ >= static_cast<Allowance>(log_.launches().size() * 3 / 2);
  if (found_) note_presence(kernel);
  return is_due ? Added::kAndIsDue : Added::kQuietly;
}

// Graphs that have taken the place of what was found may be few: a look is not due for long.
void IterationFinder::note_presence(std::uint32_t kernel) {
  if (kernel == anchor_.kernel) {
    seen_at_anchor_ = seen_;
  } else if (2 * (seen_ - seen_at_anchor_) >
             found_->launches_per_iteration * found_->periods_seen) {
    found_->confidence = std::min(found_->confidence, kDoubtful);
  }
}

void IterationFinder::add_wait() {
  if (!gave_up_) log_.append_wait();
}

void IterationFinder::add_turn() {
  if (!gave_up_) log_.append_turn();
}

void IterationFinder::add_reduction(std::size_t bytes) {
  if (!gave_up_ && bytes >= kFewestOfGradients) log_.append_reduction();
}

bool IterationFinder::confirm() {
  return period_ == 0 && found_ && !still_holds() && look();
}

bool IterationFinder::give_up() {
  gave_up_ = true;
  log_.clear();
  triples_ = {};
  next_try_ = {};
  return std::exchange(found_, std::nullopt).has_value();
}

bool IterationFinder::look() {
  if (period_ != 0) return settle_on_given();
  const std::uint64_t launches = log_.dropped() == 0 ? seen_ : log_.launches().size();
  next_look_at_seen_ =
      seen_ + std::clamp<std::uint64_t>(launches / (found_ ? 2 : 3), 16, kMostBetweenLooks);
  next_look_ = UINT64_MAX;
  soonest_look_ = launch_count() + kFewestBetweenLooks;
  awaited_runs_ = 0;
  next_try_.resize(log_.kernel_count());
  if (found_ && still_holds()) return false;
  std::vector<Candidate> all = kernels();
  if (auto candidate = waits()) all.push_back(*candidate);
  sort(all);
  auto cycle = first_proven(all, Readings::kEqual);
  if (!cycle) cycle = first_proven(all, Readings::kAll);
  if (!cycle && allowance_ >= 0) {
    all = triples();
    sort(all);
    cycle = first_proven(all, Readings::kEqualOnly);
  }
  if (cycle) return settle_on(*cycle);
  if (auto found = iteration_between_updates(log_, allowance_)) {
    is_between_updates_ = true;
    anchor_ = {.kernel = found->anchor};
    found->anchor = log_.symbol(found->anchor);
    found->first = log_.symbol(found->first);
    return take(std::move(*found));
  }
  return std::exchange(found_, std::nullopt).has_value();
}

std::vector<IterationFinder::Candidate> IterationFinder::kernels() {
  const std::size_t count = log_.launches().size();
  std::vector<Candidate> result;
  std::vector<std::size_t> gaps;
  for (std::uint32_t kernel = 0; kernel < log_.kernel_count(); ++kernel) {
    if (log_.runs(kernel) < kFewestPositions) continue;
    const std::uint32_t last = log_.last_of(kernel);
    gaps.clear();
    for (std::uint32_t at = last; gaps.size() < kGapsLookedAt; at = log_.before(at)) {
      if (log_.before(at) == LaunchLog::kNone) break;
      gaps.push_back(at - log_.before(at));
    }
    allowance_ -= static_cast<Allowance>(gaps.size());
    const auto regular = regular_gaps(gaps, count - last);
    if (!regular || (regular->median < 2 && log_.weight(kernel) == 1)) continue;
    result.push_back({.anchor = {.kernel = kernel},
                      .times = log_.runs(kernel),
                      .gap = regular->median,
                      .irregular = regular->irregular});
  }
  allowance_ -= static_cast<Allowance>(log_.kernel_count() / 4);
  return result;
}

// The host's waits as an anchor, if no launch tells an iteration's end.
std::optional<IterationFinder::Candidate> IterationFinder::waits() {
  const auto all = log_.waits();
  if (all.size() < kFewestPositions) return std::nullopt;
  const auto last = all.last(std::min(all.size(), kGapsLookedAt));
  std::vector<std::size_t> gaps;
  for (std::size_t i = 1; i < last.size(); ++i)
    gaps.push_back(last[i] - last[i - 1]);
  const auto regular = regular_gaps(gaps, log_.launches().size() - last.back());
  if (!regular) return std::nullopt;
  const std::uint32_t launch = last[last.size() - 2];
  return Candidate{.anchor = {.kernel = log_.launches()[launch], .is_wait = true},
                   .times = all.size(),
                   .gap = regular->median,
                   .irregular = regular->irregular};
}

std::vector<IterationFinder::Candidate> IterationFinder::triples() {
  allowance_ -= static_cast<Allowance>(2 * triples_.update(log_));
  const Launches all = log_.launches();
  std::vector<Candidate> result;
  std::vector<std::size_t> gaps;
  for (const LaunchTriples::Triple& triple : triples_.all()) {
    if (triple.times < kFewestPositions) continue;
    triples_.gaps_of(triple, kGapsLookedAt, gaps);
    allowance_ -= static_cast<Allowance>(gaps.size() / 2);
    const std::size_t last = triples_.last(triple);
    const auto regular = regular_gaps(gaps, all.size() - last);
    if (!regular || regular->median < 2) continue;
    result.push_back({.anchor = {.kernel = all[last],
                                 .is_alone = false,
                                 .second = all[last + 1],
                                 .third = all[last + 2]},
                      .times = triple.times,
                      .gap = regular->median,
                      .irregular = regular->irregular});
  }
  return result;
}

// Returns the last positions, ascending.
std::vector<std::uint32_t> IterationFinder::positions(const Anchor& anchor, std::size_t most) {
  const Launches all = log_.launches();
  std::vector<std::uint32_t> result;
  if (anchor.is_wait) {
    const auto waits = log_.waits();
    const auto last = waits.last(std::min(most, waits.size()));
    result.assign(last.begin(), last.end());
    if (!result.empty() && result.back() == all.size()) result.pop_back();
    return result;
  }
  result.reserve(std::min<std::size_t>(most, log_.runs(anchor.kernel)));
  std::size_t visited = 0;
  for (std::uint32_t at = log_.last_of(anchor.kernel);
       at != LaunchLog::kNone && result.size() < most; at = log_.before(at), ++visited) {
    if (!anchor.is_alone &&
        (at + 2 >= all.size() || all[at + 1] != anchor.second || all[at + 2] != anchor.third)) {
      continue;
    }
    result.push_back(at);
  }
  allowance_ -= static_cast<Allowance>(visited);
  std::ranges::reverse(result);
  return result;
}

// Sorts; among candidates at nearly one distance the most regular come first. One that updates
// parameters is among those that are tried, since no evaluation has it.
void IterationFinder::sort(std::vector<Candidate>& all) const {
  std::ranges::sort(all, [](const Candidate& a, const Candidate& b) { return a.gap < b.gap; });
  for (auto group = all.begin(); group != all.end();) {
    const auto end = end_of_group(all, group);
    std::sort(group, end, [](const Candidate& a, const Candidate& b) {
      return std::pair(a.irregular, a.anchor.kernel) < std::pair(b.irregular, b.anchor.kernel);
    });
    const auto update = std::find_if(
        group, end, [&](const Candidate& one) { return log_.updates(one.anchor.kernel); });
    if (update != end && update - group >= kAnchorsTried)
      std::rotate(group + kAnchorsTried - 1, update, update + 1);
    group = end;
  }
}

std::vector<IterationFinder::Candidate>::iterator IterationFinder::end_of_group(
    std::vector<Candidate>& all, std::vector<Candidate>::iterator group) {
  return std::find_if(group, all.end(),
                      [&](const Candidate& one) { return 32 * one.gap > 33 * group->gap; });
}

// Returns the number of segments that prove a cycle at least; a look is due when they will be
// there.
std::size_t IterationFinder::fewest_segments(const Candidate& candidate) {
  const std::size_t weight = candidate.gap * log_.weight(candidate.anchor.kernel);
  const std::size_t needed = needed_segments(weight);
  const std::size_t structured =
      weight >= kShortestStructured ? needed_structured_segments(weight) : needed;
  const std::size_t fewest = log_.is_paced() ? needed_paced_segments(weight) : structured;
  for (const std::size_t wanted : {fewest, structured, needed}) {
    if (candidate.times > wanted) continue;
    look_after((wanted + 1 - candidate.times) * candidate.gap);
  }
  return fewest;
}

// Waits for at least a 32nd more launches each time: a look costs some passes over them.
void IterationFinder::look_after(std::size_t launches) {
  const std::size_t least = std::max(kFewestBetweenLooks, log_.launches().size() / 32);
  next_look_ = std::min(next_look_, launch_count() + std::max(launches, least));
}

// Returns the cycle of one candidate, if it is proven. Its last segments tell first.
std::optional<Cycle> IterationFinder::proven(Candidate& candidate, Readings readings,
                                             std::size_t& alike) {
  const std::size_t needed = needed_segments(candidate.gap * log_.weight(candidate.anchor.kernel));
  anchor_ = candidate.anchor;
  positions_ = positions(anchor_, kTimesLookedBack * needed + kFewestPositions);
  if (positions_.size() < kFewestPositions) return std::nullopt;
  readings = readings_of_anchor(readings);
  auto cycle = study(log_, positions_, readings, allowance_);
  if (!cycle) return std::nullopt;
  const std::size_t segments = positions_.size() - 1;
  if (cycle->is_proven()) {
    if (segments + 1 != candidate.times) {
      positions_ = positions(anchor_, SIZE_MAX);
      cycle = study(log_, positions_, readings, allowance_);
      if (!cycle || !cycle->is_proven()) return std::nullopt;
    }
    // Graphs may have taken the place of what was launched kernel by kernel.
    const std::size_t of_graphs = launches_since() - (log_.launches().size() - positions_.back());
    return of_graphs <= 2 * cycle->length ? cycle : std::nullopt;
  }
  candidate.is_unfinished = cycle->is_settled;
  candidate.is_promising = cycle->is_settled && 2 * cycle->regular >= cycle->needed;
  if (cycle->is_settled && (2 * cycle->regular >= segments || 4 * cycle->regular < cycle->needed))
    ++alike;
  const std::size_t missing =
      cycle->needed_soonest - std::min(cycle->needed_soonest, cycle->regular);
  if (anchor_.is_alone && !anchor_.is_wait && cycle->is_settled) {
    awaited_ = anchor_.kernel;
    awaited_runs_ = log_.runs(awaited_) + missing;
  } else {
    look_after(std::max<std::size_t>(missing, 1) * candidate.gap);
  }
  return std::nullopt;
}

// Searches equal segments from short ones to long ones, so that an evaluation at every n-th
// iteration is no part of it; hashes tell whether they are equal. If there is nothing between them,
// or if launches vary, so that each must be compared, the outermost ones come first.
std::optional<Cycle> IterationFinder::first_proven(std::vector<Candidate>& all, Readings readings) {
  std::vector<std::vector<Candidate>::iterator> groups;
  for (auto group = all.begin(); group != all.end(); group = end_of_group(all, group))
    groups.push_back(group);
  if (readings != Readings::kEqual) std::ranges::reverse(groups);
  const bool is_costly = readings == Readings::kAll;
  const auto least = is_costly ? 0 : -static_cast<Allowance>(log_.launches().size());
  for (const auto group : groups) {
    const auto end = end_of_group(all, group);
    const auto last = group + std::min(end - group, is_costly ? kAnchorsLookedInto : kAnchorsTried);
    // Loops over layers have many anchors with many segments each: they must leave enough for
    // others.
    const Allowance least_of_group =
        is_costly ? 0 : allowance_ - static_cast<Allowance>(log_.launches().size() / 8);
    std::size_t alike = 0;  // anchors that have shown one unfinished cycle
    const auto shows = [&](bool Candidate::*what) {
      return std::any_of(group, end, [&](const Candidate& one) { return one.*what; });
    };
    if (is_costly && shows(&Candidate::is_promising)) continue;
    // Between the host's waits launches may vary most.
    if (is_costly)
      std::partition(group, end, [](const Candidate& one) { return one.anchor.is_wait; });
    const bool shows_cycle = shows(&Candidate::is_unfinished);
    for (auto one = group; one != last && alike < kEnoughAlike; ++one) {
      if (allowance_ < least) return std::nullopt;
      if (allowance_ < least_of_group) break;
      const std::size_t fewest = fewest_segments(*one);
      const bool is_paced = !is_costly || (log_.is_paced() && !shows_cycle);
      const std::size_t needed =
          is_paced ? fewest : needed_segments(one->gap * log_.weight(one->anchor.kernel));
      if (one->times <= needed || one->is_unfinished) continue;
      std::uint64_t* const next_try = is_costly && one->anchor.is_alone && !one->anchor.is_wait
                                          ? &next_try_[one->anchor.kernel]
                                          : nullptr;
      if (next_try != nullptr && launch_count() < *next_try) continue;
      if (auto cycle = proven(*one, readings, alike)) return cycle;
      if (next_try != nullptr && !one->is_unfinished)
        *next_try = launch_count() + launch_count() / 2;
    }
  }
  return std::nullopt;
}

// Returns the launches from the anchor's last position on, those of graphs included.
std::size_t IterationFinder::launches_since() const {
  return log_.weight_of(log_.launches().subspan(positions_.back()));
}

bool IterationFinder::still_holds() {
  if (is_between_updates_) return false;
  positions_ = positions(anchor_, SIZE_MAX);
  if (positions_.size() < kFewestPositions) return false;
  // This may be a long evaluation, the end of the training, or the end of a loop in the set-up.
  if (const std::size_t since = launches_since(); since > 2 * found_->launches_per_iteration) {
    const std::size_t first = positions_.front();
    const std::size_t within =
        log_.weight_of(log_.launches().subspan(first, positions_.back() - first));
    return since <= within;
  }
  constexpr Allowance whatever_it_costs = PTRDIFF_MAX / 2;
  Allowance left = whatever_it_costs;
  const auto cycle = study(log_, positions_, readings_of_anchor(Readings::kAll), left);
  allowance_ -= whatever_it_costs - left;
  if (!cycle || !cycle->is_proven()) return false;
  found_->periods_seen = cycle->regular;
  found_->confidence = confidence_of(*cycle, found_->first_launch.has_value(), boundary_is_sure_);
  doubt_what_is_not_followed(*found_, *cycle);
  return true;
}

Readings IterationFinder::readings_of_anchor(Readings readings) const {
  if (!anchor_.is_alone) return Readings::kEqualOnly;
  return anchor_.is_wait && readings == Readings::kAll ? Readings::kBetweenWaits : readings;
}

// Called after a launch was added. Counts how many of the last launches equal those of `period_`
// launches before.
bool IterationFinder::given_is_seen() {
  const Launches launches = log_.launches();
  const std::size_t count = launches.size();
  if (count <= period_) return false;
  repeated_ = launches[count - 1] == launches[count - 1 - period_] ? repeated_ + 1 : 0;
  return repeated_ == std::max(2 * period_, kFewestGiven);
}

bool IterationFinder::settle_on_given() {
  const Launches launches = log_.launches();
  const std::size_t needed = repeated_;
  const std::size_t start = launches.size() - needed - period_;
  const Launches iteration = launches.subspan(start, period_);
  Cycle cycle;
  cycle.varies.resize(log_.kernel_count());
  cycle.interrupts.resize(log_.kernel_count());
  return settle({iteration.begin(), iteration.end()}, cycle,
                {.launches_per_iteration = period_,
                 .periods_seen = 1 + needed / period_,
                 .confidence = 1,
                 .first_launch = log_.dropped() + start},
                {});
}

// Returns true if the launches so far, searched with this period given, hold iterations of it, one
// behind the other over half of them.
bool IterationFinder::would_be_found(std::size_t period) const {
  if (period > kLongestGiven) return false;
  const Launches all = log_.launches();
  IterationFinder given(period);
  std::size_t next = 0;
  while (next < all.size() && !given.found())
    static_cast<void>(given.add(all[next++]));
  if (!given.found()) return false;
  const Launches rest = all.subspan(next);
  return 2 * starts_in(rest, *given.found()).size() * period >= rest.size();
}

bool IterationFinder::settle_on(const Cycle& cycle) {
  constexpr std::size_t looked_at = 16;  // iterations
  const Boundary boundary =
      begins_at_waits(cycle)
          ? Boundary{.first_launch = positions_[cycle.first_segment],
                     .is_known = true,
                     .is_sure = is_behind_others(log_, positions_[cycle.first_segment], cycle),
                     .starts = {positions_.end() - static_cast<std::ptrdiff_t>(
                                                       std::min(looked_at + 1, positions_.size())),
                                positions_.end()}}
          : find_boundary(log_, positions_, cycle);
  boundary_is_sure_ = boundary.is_sure;
  is_between_updates_ = false;
  std::vector<std::uint32_t> iteration = cycle.steady;
  std::rotate(iteration.begin(),
              iteration.begin() + static_cast<std::ptrdiff_t>(boundary.steady_index),
              iteration.end());
  FoundIteration found{
      .launches_per_iteration = cycle.length,
      .periods_seen = cycle.regular,
      .confidence = confidence_of(cycle, boundary.is_known, boundary.is_sure),
      .other_period = cycle.with_evaluation != 0 ? cycle.with_evaluation : cycle.inner_length};
  if (found.other_period != 0 && !would_be_found(found.other_period)) found.other_period = 0;
  if (boundary.is_known) found.first_launch = log_.dropped() + boundary.first_launch;
  return settle(iteration, cycle, std::move(found), boundary.starts);
}

bool IterationFinder::begins_at_waits(const Cycle& cycle) const {
  if (!anchor_.is_wait || period_ != 0 || cycle.steady_share >= kMostlySteady) return false;
  // A loss is read between the forward pass and the backward one, which another thread launches.
  return !log_.is_by_other_thread(positions_.back());
}

// Lets `found` begin with a kernel that varies, at its n-th launch behind the anchor, if a follower
// then finds most of `starts` and no others.
bool IterationFinder::begin_with_varying(FoundIteration& found,
                                         std::span<const std::uint32_t> starts) {
  const Launches launches =
      log_.launches().subspan(starts.front(), starts.back() + 1 - starts.front());
  const std::uint32_t first = launches.back();
  const auto anchor =
      std::find(launches.rbegin() + 1, launches.rend(), log_.number_of(found.anchor));
  FoundIteration by_number = found;
  by_number.first = first;
  by_number.anchor = log_.number_of(found.anchor);
  by_number.firsts_after_anchor =
      static_cast<std::size_t>(std::count(launches.rbegin(), anchor, first));
  by_number.firsts_before_anchor = 0;
  const auto followed = starts_in(launches, by_number);
  allowance_ -= static_cast<Allowance>(launches.size());
  const auto right = std::ranges::count_if(followed, [&](std::size_t start) {
    return std::ranges::binary_search(starts, start + starts.front());
  });
  if (anchor == launches.rend() || followed.size() >= starts.size() ||
      4 * static_cast<std::size_t>(right) < 3 * (starts.size() - 1))
    return false;
  found.first = log_.symbol(first);
  found.firsts_after_anchor = by_number.firsts_after_anchor;
  found.firsts_before_anchor = 0;
  return true;
}

// Returns how often more than usual the first launch comes from one anchor to the next.
std::size_t IterationFinder::firsts_of_evaluation(const FoundIteration& found) const {
  const std::size_t usual = found.firsts_after_anchor - 1 + found.firsts_before_anchor;
  std::size_t result = 0;
  std::size_t firsts = 0;
  for (const std::uint32_t kernel : log_.launches().subspan(*found.first_launch - log_.dropped())) {
    const std::uint32_t symbol = log_.symbol(kernel);
    if (symbol == found.first) ++firsts;
    if (symbol != found.anchor) continue;
    const std::size_t more = std::exchange(firsts, 0) - usual;
    if (static_cast<std::ptrdiff_t>(more) <= 0 || more == result) continue;
    if (result != 0) return 0;
    result = more;
  }
  return result;
}

// Sets what a follower needs to find the beginning of `iteration`.
bool IterationFinder::settle(const std::vector<std::uint32_t>& iteration, const Cycle& cycle,
                             FoundIteration found, std::span<const std::uint32_t> starts) {
  constexpr std::size_t anchors_tried = 8;
  const std::uint32_t first = iteration.front();
  found.first = log_.symbol(first);
  std::vector<LastLaunch> anchors = anchors_of(iteration, cycle);
  const auto follow = [&](const LastLaunch& last) {
    const auto anchor = iteration.begin() + static_cast<std::ptrdiff_t>(last.place);
    found.anchor = log_.symbol(*anchor);
    found.is_group = last.is_group;
    found.firsts_after_anchor =
        1 + static_cast<std::size_t>(std::count(anchor + 1, iteration.end(), first));
    found.firsts_before_anchor =
        static_cast<std::size_t>(std::count(iteration.begin(), anchor + 1, first));
    return !starts.empty() && begin_with_varying(found, starts);
  };
  if (!anchors.empty()) {
    const auto end =
        anchors.begin() + static_cast<std::ptrdiff_t>(std::min(anchors_tried, anchors.size()));
    if (starts.empty() || std::none_of(anchors.begin(), end, follow)) {
      if (begins_at_waits(cycle)) return std::exchange(found_, std::nullopt).has_value();
      if (!starts.empty()) {
        boundary_is_sure_ = false;
        found.confidence = std::min(found.confidence, kDoubtful);
      }
      const auto once = std::ranges::find(anchors, false, &LastLaunch::is_group);
      follow(once == anchors.end() ? anchors.front() : *once);
    }
    // Each launch of a group would be an occurrence.
    if (!begins_at_waits(cycle) && !found.is_group)
      anchor_ = {.kernel = log_.number_of(found.anchor)};
    if (cycle.with_evaluation != 0 && found.first_launch)
      found.firsts_of_evaluation = firsts_of_evaluation(found);
  } else if (const auto word = shortest_word(iteration, cycle.varies.size(), period_ != 0)) {
    found.anchor = log_.symbol(word->kernel);
    found.word = word->letters;
  } else {
    return std::exchange(found_, std::nullopt).has_value();  // it could not be followed
  }
  if (period_ == 0) doubt_what_is_not_followed(found, cycle);
  return take(std::move(found));
}

// An iteration is doubtful if fewer than nine tenths of those so far begin where a follower, who
// knows two kernels only, says that they do.
void IterationFinder::doubt_what_is_not_followed(FoundIteration& found, const Cycle& cycle) {
  constexpr std::size_t unfinished = 1;
  const Launches all = log_.launches();
  const std::uint64_t first = std::max(found.first_launch.value_or(0), log_.dropped());
  const Launches launches = all.subspan(first - log_.dropped());
  allowance_ -= static_cast<Allowance>(2 * launches.size());
  FoundIteration by_number = found;
  by_number.first = log_.number_of(found.first);
  by_number.anchor = log_.number_of(found.anchor);
  const auto anchors = [&](const auto& some) {
    return static_cast<std::size_t>(std::ranges::count(some, by_number.anchor));
  };
  if (10 * (starts_in(launches, by_number).size() + unfinished) * anchors(cycle.steady) <
      9 * anchors(launches))
    found.confidence = std::min(found.confidence, kDoubtful);
}

bool IterationFinder::take(FoundIteration found) {
  const bool is_new = !found_ || !found_->begins_as(found);
  found_ = std::move(found);
  seen_at_anchor_ = seen_;
  return is_new;
}

}  // namespace inline_prof::schedule
