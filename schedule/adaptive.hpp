// Policy adaptive: the samples so far decide what is measured next.
#pragma once

#include "base/median.hpp"
#include "schedule/classes.hpp"
#include "schedule/settings.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace inline_prof::schedule {

// An event's range of start_index and end_index in prof.json.
struct IndexRange {
  std::int64_t start = 0;
  std::int64_t end = 0;
};

// The cost of pairs, and their budget.
struct PairCost {
  double iteration_ms = 0;  // time of an iteration, above 0
  double pair_ms = 0;       // GPU time that a pair adds, above 0
};

// The most pairs in an iteration, whatever the budget allows.
inline constexpr std::size_t kMostPairs = 32;

// One of `every` iterations has pairs, and so many: {1, 32} or {3, 1}.
struct PairRate {
  std::int64_t every = 1;
  std::size_t pairs = 1;

  bool operator==(const PairRate&) const = default;
};

// Returns the rate that fits into `budget_percent` of the iteration. `in_powers_of_two`: rounded
// down to one, so that ranks whose clocks differ a little get the same.
[[nodiscard]] PairRate pair_rate(double budget_percent, const PairCost& cost,
                                 bool in_powers_of_two);

// Chooses classes by share of the iteration times doubt, and a member of each at random, until
// every class is known well enough:
//   - 10 samples, and the 95 % interval of its median (base/median.hpp) within +-target_ci;
//   - or less than 0.5 % of the iteration and kFewestForInterval samples;
//   - or `repeat` samples of each member;
//   - or given up: 32 tries in a row without a sample.
// A class whose members turn out to differ (groups_that_agree()) is split.
//
// Where several ranks measure, classes are proposed in shuffled rounds instead, a pure function of
// (iteration, seed, events), and a rank leaves out those that it knows: so ranks measure the same
// event in the same iteration without talking to each other.
class AdaptivePlan {
 public:
  // Takes `events` and `ranges` of equal sizes. Throws ScheduleError as check() does.
  AdaptivePlan(const std::vector<ClassMember>& events, std::vector<IndexRange> ranges,
               const Settings& settings, bool is_one_of_several_ranks);

  // Returns the events to measure in `iteration`, which only ever grows: none, one, or several that
  // do not overlap and have some launches between them.
  [[nodiscard]] std::vector<std::size_t> next(std::int64_t iteration, const PairCost& cost);

  // Called when the sample of an event that next() has returned arrives, or is lost.
  void add(std::size_t event, double measured_ms);
  void lose(std::size_t event);

  [[nodiscard]] bool is_done() const;

  // Estimates the iterations left from the samples so far and the square root law: an interval's
  // width falls as 1 / sqrt(n). 0 when done.
  [[nodiscard]] std::int64_t iterations_left(const PairCost& cost) const;

  // The present state of a class. Classes that were split off come behind the others.
  struct Class {
    EventClass what{};
    std::size_t sample_count = 0;
    std::optional<base::MedianAndInterval> median_ms{};  // empty below kFewestForInterval samples
    double share = 0;                                    // of the iteration, 0..1; 0 if unknown
    bool is_known = false;                               // known well enough
    bool was_given_up = false;                           // no sample came
  };
  [[nodiscard]] std::vector<Class> classes() const;

 private:
  struct Taken {
    std::size_t event = 0;
    double ms = 0;
  };
  struct ClassState {
    EventClass what{};
    std::vector<Taken> samples{};
    std::optional<base::MedianAndInterval> median{};
    double middle_ms = 0;              // median of any number of samples
    std::size_t in_flight = 0;         // given and not answered yet
    std::int64_t last_given = 0;       // iteration
    std::size_t tries_in_vain = 0;     // since the last sample
    std::size_t next_split_test = 64;  // samples
  };

  [[nodiscard]] std::vector<std::size_t> by_need(std::int64_t iteration, std::size_t pairs);
  [[nodiscard]] std::vector<std::size_t> by_round(std::int64_t iteration, const PairRate& rate);
  [[nodiscard]] double step_ms() const;
  [[nodiscard]] double share(const ClassState& state) const;
  [[nodiscard]] bool needs_more(const ClassState& state, std::size_t samples) const;
  [[nodiscard]] double doubt(const ClassState& state, std::size_t samples) const;
  [[nodiscard]] bool is_exhausted(const ClassState& state) const;
  [[nodiscard]] std::size_t samples_wanted(const ClassState& state) const;
  [[nodiscard]] std::optional<std::size_t> member_of(const ClassState& state,
                                                     std::int64_t iteration,
                                                     const std::vector<std::size_t>& chosen) const;
  [[nodiscard]] bool fits_beside(std::size_t event, const std::vector<std::size_t>& chosen) const;
  void give(ClassState& state, std::int64_t iteration);
  void update(ClassState& state);
  void split(std::size_t index);

  std::vector<ClassState> classes_{};
  std::vector<EventClass> rounds_of_{};    // the classes at the start, which rounds are made of
  std::vector<std::size_t> class_of_{};    // by event
  std::vector<std::size_t> samples_of_{};  // by event
  std::vector<IndexRange> ranges_{};       // by event
  std::int64_t least_distance_ = 1;        // between two events of an iteration, in start_index
  std::size_t repeat_ = 0;
  std::int64_t warmup_ = 0;
  std::uint64_t seed_ = 0;
  double target_ = 0;
  double budget_percent_ = 0;
  bool in_rounds_ = false;
  double iteration_ms_ = 0;  // as given last
};

// The number of iterations of policy adaptive with `event_count` events in `class_count` classes:
// kFewestForInterval samples of each class at least, `repeat` of each event at most.
struct IterationBounds {
  std::int64_t least = 0;
  std::int64_t most = 0;
};
[[nodiscard]] IterationBounds adaptive_bounds(std::size_t event_count, std::size_t class_count,
                                              const Settings& settings, const PairRate& rate);

}  // namespace inline_prof::schedule
