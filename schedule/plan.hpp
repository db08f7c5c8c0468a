// Plans which event an iteration measures.
#pragma once

#include "schedule/settings.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace inline_prof::schedule {

// One iteration's event, as an index into the list of chosen events.
struct Turn {
  std::int64_t iteration = 0;
  std::size_t event = 0;

  bool operator==(const Turn&) const = default;
};

// Throws ScheduleError if all samples together are more than kMaxSamples: there must be room for
// each before the first is taken.
void check_samples(std::size_t event_count, std::int64_t repeat);

// A pure function of (iteration, seed, number of events): ranks with the same events measure the
// same one in the same iteration without communication.
class Plan {
 public:
  // Measures nothing.
  Plan() = default;

  // Generated: `repeat` samples of each of `event_count` events from iteration `warmup` + 1 on, one
  // event an iteration, without gaps.
  //   in_order      event 0 in the first `repeat` iterations, then event 1 ..., as the original
  //                 profiler did: clocks and neighbours stay the same within an event.
  //   interleaved   rounds in which every event has one iteration, each round in its own order: a
  //                 drift of the clock, or a disturbance, is spread over all events.  In the first
  //                 round those with the larger of `sizes`, one for each event, come first: a run
  //                 that ends early has measured what takes most.
  // Throws ScheduleError for settings that check() refuses, for policy adaptive (adaptive.hpp), and
  // for more than kMaxSamples samples.
  Plan(std::size_t event_count, const Settings& settings, const std::vector<double>& sizes = {});
  Plan(std::size_t event_count, std::int64_t warmup, std::int64_t repeat, Policy policy,
       std::uint64_t seed);

  // Given by a prof.schedule. `turns` ascend in their iterations, all after `warmup`, and name
  // events below `event_count`; throws std::invalid_argument if not.
  Plan(std::size_t event_count, std::int64_t warmup, std::vector<Turn> turns);

  // Returns the index into the chosen events; nothing in the warm-up, in a gap of the list, and
  // after the end. Allocates nothing; takes the logarithm of the number of samples at most.
  [[nodiscard]] std::optional<std::size_t> event_at(std::int64_t iteration) const noexcept;

  // Returns the last iteration that measures; the last of the warm-up if none does.
  [[nodiscard]] std::int64_t last_iteration() const noexcept;

  [[nodiscard]] std::int64_t sample_count() const noexcept;
  [[nodiscard]] std::int64_t samples_of(std::size_t event) const noexcept;

 private:
  std::size_t event_count_ = 0;
  std::int64_t warmup_ = 0;
  std::int64_t repeat_ = 0;           // 0: given
  std::vector<std::uint32_t> order_;  // interleaved: event of each iteration after the warm-up
  std::vector<Turn> turns_;           // given
};

}  // namespace inline_prof::schedule
