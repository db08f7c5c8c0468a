#include "schedule/plan.hpp"

#include "schedule/error.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace inline_prof::schedule {
namespace {

// SplitMix64: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", OOPSLA
// 2014, doi:10.1145/2660193.2660195, with the mixing function of S. Vigna's reference code (2015).
// Our own, because the standard library leaves std::shuffle and its distributions to the
// implementation, and ranks must agree whatever they were built with.
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }

  // Uniform in [0, bound).  Values of the last, incomplete block of `bound` are drawn again.
  std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t complete = std::numeric_limits<std::uint64_t>::max() / bound * bound;
    std::uint64_t value = next();
    while (value >= complete) {
      value = next();
    }
    return value % bound;
  }

 private:
  std::uint64_t state_;
};

// `round_count` permutations of the events, one after the other.  Each is shuffled as in
// R. Durstenfeld, "Algorithm 235: Random permutation", Communications of the ACM 7(7), 1964,
// doi:10.1145/364520.364540.
std::vector<std::uint32_t> interleave(std::size_t event_count, std::size_t round_count,
                                      std::uint64_t seed) {
  SplitMix64 random(seed);
  std::vector<std::uint32_t> order(event_count * round_count);
  for (std::size_t round = 0; round < round_count; ++round) {
    const auto first = order.begin() + static_cast<std::ptrdiff_t>(round * event_count);
    std::iota(first, first + static_cast<std::ptrdiff_t>(event_count), std::uint32_t{0});
    for (std::size_t left = event_count; left > 1; --left) {
      std::iter_swap(first + static_cast<std::ptrdiff_t>(left - 1),
                     first + static_cast<std::ptrdiff_t>(random.below(left)));
    }
  }
  return order;
}

}  // namespace

Plan::Plan(std::size_t event_count, const Settings& settings)
    : event_count_(event_count), warmup_(settings.warmup), repeat_(settings.repeat) {
  check(settings);
  if (std::cmp_greater(event_count, kMaxSamples / repeat_)) {
    throw ScheduleError(std::to_string(event_count) + " events with " + std::to_string(repeat_) +
                        " samples each, expected at most " + std::to_string(kMaxSamples) +
                        " samples: name fewer events or lower the number of repeats");
  }
  if (settings.policy == Policy::kInterleaved) {
    order_ = interleave(event_count, static_cast<std::size_t>(repeat_), settings.seed);
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
  return std::count_if(turns_.begin(), turns_.end(),
                       [event](const Turn& turn) { return turn.event == event; });
}

}  // namespace inline_prof::schedule
