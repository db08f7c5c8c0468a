// The time of an iteration, the same one for everything that speaks of it.
#pragma once

#include "join/rows/statistics.hpp"

#include <optional>
#include <span>
#include <vector>

namespace inline_prof::join {

// Every report, gate, comparison and table of the dataset takes its time from here.
struct Iteration {
  std::optional<double> us;  // empty: not known, or 0, of which nothing is a share
  std::optional<Interval> ci95_us;
};

// Returns the median of one run's iterations.
[[nodiscard]] Iteration iteration_of(std::span<const double> times_ms);

// Returns the mean over devices.  Ranks of one run are slow together, so the ends of their
// intervals are averaged, too.  Empty if it is not known of one of them.
[[nodiscard]] Iteration mean_iteration(const std::vector<Iteration>& of_devices);

}  // namespace inline_prof::join
