// Policy adaptive in a run: what it chooses is armed, what comes of it is told.
#pragma once

#include "record/event_record.hpp"
#include "schedule/adaptive.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace inline_prof::session {

class Session;

class AdaptiveController {
 public:
  // `bias_ms`: what a pair measures beyond what is between its events.  The GPU spends it once for
  // each of the two.
  AdaptiveController(schedule::AdaptivePlan plan, double bias_ms)
      : first_plan_(std::move(plan)), plan_(first_plan_), bias_ms_(bias_ms) {}

  // All classes are measured again.
  void begin_anew() {
    plan_ = first_plan_;
    awaited_.clear();
  }

  // The targets of `iteration`, an index into Course::targets each.  None before the first
  // iteration time is known, since the budget is a share of it.
  [[nodiscard]] std::vector<std::size_t> next(Session& session, std::int64_t iteration);

  [[nodiscard]] bool is_done() const { return plan_.is_done(); }
  // Below 0 where no iteration time is known yet.
  [[nodiscard]] std::int64_t iterations_left() const;
  // The classes of which no sample came: their targets, indices into Course::targets.
  [[nodiscard]] std::vector<std::vector<std::size_t>> classes_without_samples() const;

 private:
  // Given to be measured in `iteration`, and not heard of yet.
  struct Awaited {
    std::size_t target = 0;
    std::int64_t iteration = 0;
    std::uint32_t samples_before = 0;
  };

  [[nodiscard]] schedule::PairCost cost() const {
    return {.iteration_ms = iteration_ms_, .pair_ms = 2 * bias_ms_};
  }
  void hear_of_samples(Session& session, std::int64_t iteration);

  schedule::AdaptivePlan first_plan_;
  schedule::AdaptivePlan plan_;
  double bias_ms_ = 0;
  double iteration_ms_ = 0;
  std::size_t times_read_ = 0;
  std::vector<Awaited> awaited_{};
};

}  // namespace inline_prof::session
