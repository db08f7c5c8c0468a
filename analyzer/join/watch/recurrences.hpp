#pragma once

#include "join/watch/watched_run.hpp"

#include <vector>

namespace inline_prof::join {

// Tells from a run's columns, changes and readings what loses time again and again:
//   hardware: the same ranks are slower than their peers, most of the time or by now;
//   data:     now one rank is slow, now another; or all are together, and it passes;
//   program:  all ranks are slower since one time.
[[nodiscard]] std::vector<Recurrence> find_recurrences(const WatchedRun& run, double least_ratio);

}  // namespace inline_prof::join
