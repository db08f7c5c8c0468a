#include "schedule/adaptive.hpp"

#include "base/random.hpp"
#include "schedule/plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

namespace inline_prof::schedule {
namespace {

// A class with a smaller share of the iteration than this gets the minimum number of samples.
constexpr double kSmallShare = 0.005;
// Stopping as soon as an interval is narrow favours intervals that are narrow by chance.  With at
// least 10 samples, 97 of 100 such intervals contain the true value at a noise of 3 %, and 92 at 10
// %.
constexpr std::size_t kFewestOfALargeClass = 10;
constexpr std::size_t kMostTriesInVain = 32;
// An event that was returned this many iterations ago has lost its sample: the injected library
// reads samples sooner.
constexpr std::int64_t kLongestFlight = 64;

double middle_of(std::vector<double> values) {
  return values.empty() ? 0 : base::median(std::move(values));
}

std::int64_t largest_power_of_two(double value) {  // the largest not above `value`, which is >= 1
  return static_cast<std::int64_t>(std::exp2(std::floor(std::log2(value))));
}

}  // namespace

PairRate pair_rate(double budget_percent, const PairCost& cost, bool in_powers_of_two) {
  // A little more, so that rounding does not turn 1 into less than 1.
  const double allowed = budget_percent / 100 * cost.iteration_ms / cost.pair_ms * (1 + 1e-9);
  if (allowed >= 1) {
    const double pairs = std::min(std::floor(allowed), static_cast<double>(kMostPairs));
    return {.every = 1,
            .pairs = in_powers_of_two ? static_cast<std::size_t>(largest_power_of_two(pairs))
                                      : static_cast<std::size_t>(pairs)};
  }
  // One pair every `every` iterations, at most a million.
  const double every = std::min(std::ceil(1 / std::max(allowed, 1e-6)), 1e6);
  const auto rounded = largest_power_of_two(every);
  const bool is_power = static_cast<double>(rounded) == every;
  return {.every = !in_powers_of_two ? static_cast<std::int64_t>(every)
                   : is_power        ? rounded
                                     : 2 * rounded,
          .pairs = 1};
}

AdaptivePlan::AdaptivePlan(const std::vector<ClassMember>& events, std::vector<IndexRange> ranges,
                           const Settings& settings, bool is_one_of_several_ranks)
    : rounds_of_(make_classes(events)),
      class_of_(events.size()),
      samples_of_(events.size()),
      ranges_(std::move(ranges)),
      repeat_(static_cast<std::size_t>(settings.repeat)),
      warmup_(settings.warmup),
      seed_(settings.seed),
      target_(settings.target_ci.value_or(kDefaultTargetCi)),
      budget_percent_(settings.budget_percent.value_or(kDefaultBudgetPercent)),
      in_rounds_(is_one_of_several_ranks) {
  check(settings);
  check_samples(events.size(), settings.repeat);
  for (std::size_t c = 0; c < rounds_of_.size(); ++c) {
    for (const std::size_t event : rounds_of_[c].members)
      class_of_[event] = c;
    classes_.push_back({.what = rounds_of_[c]});
  }
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = 0;
  for (const IndexRange& range : ranges_) {
    first = std::min(first, range.start);
    last = std::max(last, range.end);
  }
  // A quarter of the mean distance of kMostPairs, and at most four launches: pairs do not wait for
  // each other, and neighbours can still be measured soon.
  if (last > first) {
    const std::int64_t quarter = (last - first) / (4 * static_cast<std::int64_t>(kMostPairs));
    least_distance_ = std::clamp<std::int64_t>(quarter, 1, 8);
  }
}

std::vector<std::size_t> AdaptivePlan::next(std::int64_t iteration, const PairCost& cost) {
  iteration_ms_ = cost.iteration_ms;
  const PairRate rate = pair_rate(budget_percent_, cost, in_rounds_);
  const std::int64_t turn = iteration - warmup_ - 1;
  if (turn < 0 || turn % rate.every != 0) return {};
  for (ClassState& state : classes_) {
    if (iteration - state.last_given > kLongestFlight) state.in_flight = 0;
  }
  return in_rounds_ ? by_round(iteration, rate) : by_need(iteration, rate.pairs);
}

std::vector<std::size_t> AdaptivePlan::by_need(std::int64_t iteration, std::size_t pairs) {
  struct Need {
    double urgency = 0;
    std::uint64_t lot = 0;  // among equals
    std::size_t index = 0;
  };
  std::vector<Need> needs;
  base::SplitMix64 random(seed_, static_cast<std::uint64_t>(iteration));
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    const ClassState& state = classes_[i];
    const std::uint64_t lot = random.next();
    const std::size_t expected = state.samples.size() + state.in_flight;
    if (!needs_more(state, state.samples.size()) || !needs_more(state, expected)) continue;
    const double urgency = expected == 0 ? std::numeric_limits<double>::infinity()
                                         : share(state) * doubt(state, expected);
    needs.push_back({.urgency = urgency, .lot = lot, .index = i});
  }
  // A heap: few are chosen of many, and sorting takes 3 KiB of stack.
  const auto is_less = [](const Need& a, const Need& b) {
    return std::pair(a.urgency, a.lot) < std::pair(b.urgency, b.lot);
  };
  std::make_heap(needs.begin(), needs.end(), is_less);

  std::vector<std::size_t> chosen;
  while (chosen.size() < pairs && !needs.empty()) {
    std::pop_heap(needs.begin(), needs.end(), is_less);
    const Need need = needs.back();
    needs.pop_back();
    ClassState& state = classes_[need.index];
    const auto event = member_of(state, iteration, chosen);
    if (!event) continue;
    chosen.push_back(*event);
    give(state, iteration);
  }
  return chosen;
}

std::vector<std::size_t> AdaptivePlan::by_round(std::int64_t iteration, const PairRate& rate) {
  std::vector<std::size_t> chosen;
  const std::size_t count = rounds_of_.size();
  if (count == 0) return chosen;
  const auto first = static_cast<std::size_t>((iteration - warmup_ - 1) / rate.every) * rate.pairs;
  for (std::size_t turn = first; turn < first + std::min(rate.pairs, count); ++turn) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    base::SplitMix64 random(seed_, turn / count);
    base::shuffle(std::span(order), random);
    const auto& members = rounds_of_[order[turn % count]].members;
    const std::size_t event = members[base::SplitMix64(~seed_, turn).below(members.size())];
    ClassState& state = classes_[class_of_[event]];
    if (samples_of_[event] >= repeat_ || !needs_more(state, state.samples.size()) ||
        !fits_beside(event, chosen))
      continue;
    chosen.push_back(event);
    give(state, iteration);
  }
  return chosen;
}

bool AdaptivePlan::fits_beside(std::size_t event, const std::vector<std::size_t>& chosen) const {
  const IndexRange& mine = ranges_[event];
  return std::ranges::none_of(chosen, [&](std::size_t other) {
    const IndexRange& its = ranges_[other];
    return mine.start < its.end + least_distance_ && its.start < mine.end + least_distance_;
  });
}

std::optional<std::size_t> AdaptivePlan::member_of(const ClassState& state, std::int64_t iteration,
                                                   const std::vector<std::size_t>& chosen) const {
  const auto& members = state.what.members;
  base::SplitMix64 random(~seed_ ^ static_cast<std::uint64_t>(iteration), members.front());
  const std::size_t start = random.below(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::size_t event = members[(start + i) % members.size()];
    if (samples_of_[event] < repeat_ && fits_beside(event, chosen)) return event;
  }
  return std::nullopt;
}

void AdaptivePlan::give(ClassState& state, std::int64_t iteration) {
  ++state.in_flight;
  ++state.tries_in_vain;
  state.last_given = iteration;
}

void AdaptivePlan::add(std::size_t event, double measured_ms) {
  const std::size_t index = class_of_[event];
  ClassState& state = classes_[index];
  if (state.in_flight > 0) --state.in_flight;
  state.tries_in_vain = 0;
  state.samples.push_back({.event = event, .ms = measured_ms});
  ++samples_of_[event];
  update(state);
  if (state.samples.size() < state.next_split_test || state.what.members.size() < 2) return;
  state.next_split_test *= 2;
  split(index);
}

void AdaptivePlan::lose(std::size_t event) {
  ClassState& state = classes_[class_of_[event]];
  if (state.in_flight > 0) --state.in_flight;
}

void AdaptivePlan::update(ClassState& state) {
  std::vector<double> values;
  values.reserve(state.samples.size());
  for (const Taken& taken : state.samples)
    values.push_back(taken.ms);
  state.middle_ms = middle_of(values);
  state.median.reset();
  if (values.size() >= base::kFewestForInterval)
    state.median = base::median_and_interval95(std::span(values));
}

void AdaptivePlan::split(std::size_t index) {
  const auto members = classes_[index].what.members;
  std::vector<std::vector<double>> samples(members.size());
  for (const Taken& taken : classes_[index].samples) {
    const auto place = std::lower_bound(members.begin(), members.end(), taken.event);
    samples[static_cast<std::size_t>(place - members.begin())].push_back(taken.ms);
  }
  const auto groups = groups_that_agree(samples);
  if (groups.size() < 2) return;

  const auto largest = static_cast<std::size_t>(
      std::ranges::max_element(groups,
                               [](const auto& a, const auto& b) { return a.size() < b.size(); }) -
      groups.begin());
  ClassState old = std::exchange(classes_[index], {});
  int number = 1;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    ClassState part{.what = {.name = old.what.name}};
    part.next_split_test = old.next_split_test;
    part.last_given = old.last_given;
    for (const std::size_t place : groups[g])
      part.what.members.push_back(members[place]);
    for (const Taken& taken : old.samples) {
      if (std::binary_search(part.what.members.begin(), part.what.members.end(), taken.event))
        part.samples.push_back(taken);
    }
    update(part);
    const bool keeps_the_name = g == largest;
    if (!keeps_the_name) part.what.name += " /" + std::to_string(++number);
    const std::size_t place = keeps_the_name ? index : classes_.size();
    for (const std::size_t event : part.what.members)
      class_of_[event] = place;
    if (keeps_the_name) {
      classes_[index] = std::move(part);
    } else {
      classes_.push_back(std::move(part));
    }
  }
}

double AdaptivePlan::step_ms() const {
  if (iteration_ms_ > 0) return iteration_ms_;
  double sum = 0;
  for (const ClassState& state : classes_)
    sum += state.middle_ms * static_cast<double>(state.what.members.size());
  return sum;
}

double AdaptivePlan::share(const ClassState& state) const {
  const double step = step_ms();
  if (!(step > 0)) return 0;
  return std::min(state.middle_ms * static_cast<double>(state.what.members.size()) / step, 1.0);
}

// Returns the half width of the interval over the median that `samples` samples will give, at most
// 1.
double AdaptivePlan::doubt(const ClassState& state, std::size_t samples) const {
  if (!state.median) return 1;
  const double width = state.median->relative_half_width();
  const double grown = static_cast<double>(samples) / static_cast<double>(state.samples.size());
  return std::min(width / std::sqrt(grown), 1.0);
}

bool AdaptivePlan::is_exhausted(const ClassState& state) const {
  return std::ranges::all_of(state.what.members,
                             [&](std::size_t event) { return samples_of_[event] >= repeat_; });
}

// Returns true if the class would still need a sample if it had so many.
bool AdaptivePlan::needs_more(const ClassState& state, std::size_t samples) const {
  if (state.tries_in_vain >= kMostTriesInVain || is_exhausted(state)) return false;
  if (samples < base::kFewestForInterval) return true;
  if (!state.median) return samples < 2 * base::kFewestForInterval;  // they are under way
  if (share(state) < kSmallShare) return false;
  return samples < kFewestOfALargeClass || doubt(state, samples) > target_;
}

bool AdaptivePlan::is_done() const {
  return std::ranges::none_of(
      classes_, [&](const ClassState& state) { return needs_more(state, state.samples.size()); });
}

std::size_t AdaptivePlan::samples_wanted(const ClassState& state) const {
  const std::size_t samples = state.samples.size();
  if (!needs_more(state, samples)) return 0;
  if (!state.median) return base::kFewestForInterval - samples;
  if (samples < kFewestOfALargeClass) return kFewestOfALargeClass - samples;
  const double ratio = state.median->relative_half_width() / target_;
  const double wanted = static_cast<double>(samples) * (ratio * ratio - 1);
  const double possible = static_cast<double>(repeat_ * state.what.members.size() - samples);
  return static_cast<std::size_t>(std::clamp(std::ceil(wanted), 1.0, std::max(possible, 1.0)));
}

std::int64_t AdaptivePlan::iterations_left(const PairCost& cost) const {
  const PairRate rate = pair_rate(budget_percent_, cost, in_rounds_);
  std::size_t sum = 0;
  std::size_t most = 0;
  for (const ClassState& state : classes_) {
    const std::size_t wanted = samples_wanted(state);
    sum += wanted;
    most = std::max(most, wanted);
  }
  // In rounds, a class comes once a round; otherwise once an iteration at most.
  const std::size_t turns = in_rounds_ ? most * rounds_of_.size() : sum;
  const std::size_t iterations = std::max((turns + rate.pairs - 1) / rate.pairs, most);
  return static_cast<std::int64_t>(iterations) * rate.every;
}

std::vector<AdaptivePlan::Class> AdaptivePlan::classes() const {
  std::vector<Class> result;
  result.reserve(classes_.size());
  for (const ClassState& state : classes_) {
    result.push_back(
        {.what = state.what,
         .sample_count = state.samples.size(),
         .median_ms = state.median,
         .share = share(state),
         .is_known = state.median && !needs_more(state, state.samples.size()) &&
                     (share(state) < kSmallShare || state.median->relative_half_width() <= target_),
         .was_given_up = state.tries_in_vain >= kMostTriesInVain});
  }
  return result;
}

IterationBounds adaptive_bounds(std::size_t event_count, std::size_t class_count,
                                const Settings& settings, const PairRate& rate) {
  const auto iterations = [&](std::int64_t samples) {
    const auto pairs = static_cast<std::int64_t>(rate.pairs);
    return settings.warmup + (samples + pairs - 1) / pairs * rate.every;
  };
  const auto events = static_cast<std::int64_t>(event_count);
  const auto fewest = std::min(static_cast<std::int64_t>(class_count * base::kFewestForInterval),
                               events * settings.repeat);
  return {.least = iterations(fewest), .most = iterations(events * settings.repeat)};
}

}  // namespace inline_prof::schedule
