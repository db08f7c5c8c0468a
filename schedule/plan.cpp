#include "schedule/plan.hpp"

#include "base/random.hpp"
#include "schedule/error.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <stdexcept>
#include <utility>

namespace inline_prof::schedule {
namespace {

// Returns `round_count` permutations of the events, one after the other; in the first, the events
// of a larger size come first.
std::vector<std::uint32_t> interleave(std::size_t event_count, std::size_t round_count,
                                      std::uint64_t seed, const std::vector<double>& sizes) {
  base::SplitMix64 random(seed);
  std::vector<std::uint32_t> order(event_count * round_count);
  for (std::size_t round = 0; round < round_count; ++round) {
    const auto of_round = std::span(order).subspan(round * event_count, event_count);
    std::iota(of_round.begin(), of_round.end(), std::uint32_t{0});
    base::shuffle(of_round, random);
  }
  if (!sizes.empty() && round_count > 0) {
    std::stable_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(event_count),
                     [&](std::uint32_t a, std::uint32_t b) { return sizes[a] > sizes[b]; });
  }
  return order;
}

}  // namespace

void check_samples(std::size_t event_count, std::int64_t repeat) {
  if (std::cmp_less_equal(event_count, kMaxSamples / repeat)) return;
  throw ScheduleError(std::to_string(event_count) + " events with " + std::to_string(repeat) +
                      " samples each, expected at most " + std::to_string(kMaxSamples) +
                      " samples: name fewer events or lower the number of repeats");
}

Plan::Plan(std::size_t event_count, const Settings& settings, const std::vector<double>& sizes)
    : event_count_(event_count), warmup_(settings.warmup), repeat_(settings.repeat) {
  check(settings);
  if (settings.policy == Policy::kAdaptive) {
    throw ScheduleError("policy adaptive chooses as it measures: no plan can be made beforehand");
  }
  check_samples(event_count, repeat_);
  if (settings.policy == Policy::kInterleaved) {
    order_ = interleave(event_count, static_cast<std::size_t>(repeat_), settings.seed, sizes);
  }
}

Plan::Plan(std::size_t event_count, std::int64_t warmup, std::int64_t repeat, Policy policy,
           std::uint64_t seed)
    : Plan(event_count, Settings{.warmup = warmup,
                                 .repeat = repeat,

                                 .policy = policy,
                                 .seed = seed}) {}

Plan::Plan(std::size_t event_count, std::int64_t warmup, std::vector<Turn> turns)
    : event_count_(event_count), warmup_(warmup), turns_(std::move(turns)) {
  std::int64_t last = warmup;
  for (const Turn& turn : turns_) {
    if (turn.iteration <= last || turn.event >= event_count) {
      throw std::invalid_argument("turns must ascend after the warm-up and name chosen events");
    }
    last = turn.iteration;
  }
}

std::optional<std::size_t> Plan::event_at(std::int64_t iteration) const noexcept {
  if (iteration <= warmup_ || iteration > last_iteration()) return std::nullopt;
  if (repeat_ == 0) {
    const auto turn = std::lower_bound(
        turns_.begin(), turns_.end(), iteration,
        [](const Turn& candidate, std::int64_t wanted) { return candidate.iteration < wanted; });
    if (turn->iteration != iteration) return std::nullopt;
    return turn->event;
  }
  const std::int64_t position = iteration - warmup_ - 1;
  if (order_.empty()) return static_cast<std::size_t>(position / repeat_);
  return order_[static_cast<std::size_t>(position)];
}

std::int64_t Plan::last_iteration() const noexcept {
  if (repeat_ != 0) return warmup_ + sample_count();
  return turns_.empty() ? warmup_ : turns_.back().iteration;
}

std::int64_t Plan::sample_count() const noexcept {
  if (repeat_ != 0) return static_cast<std::int64_t>(event_count_) * repeat_;
  return static_cast<std::int64_t>(turns_.size());
}

std::int64_t Plan::samples_of(std::size_t event) const noexcept {
  if (event >= event_count_) return 0;
  if (repeat_ != 0) return repeat_;
  return std::ranges::count_if(turns_, [event](const Turn& turn) { return turn.event == event; });
}

}  // namespace inline_prof::schedule
