// Finds where the iterations of a cycle begin: the cycle itself has no beginning.
#pragma once

#include "schedule/recurrence.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace inline_prof::schedule {

struct Boundary {
  std::size_t first_launch = 0;  // of the first iteration, in `launches`
  std::size_t steady_index = 0;  // Cycle::steady[steady_index] begins an iteration
  bool is_known =
      false;  // false: the launches begin within the cycle; the anchor ends an iteration
  // It is behind an optimizer's step; or the launches that it begins with did not come before, and
  // the first iteration lacks few in the middle; or the host waits there, and nothing before could
  // be an iteration. Never where a row of one kernel's launches goes on from the set-up, where
  // launches that vary often come right before, nor where the cycle may hold several iterations.
  bool is_sure = false;
  // The first launches of the last iterations, if these are of a kernel that varies.
  std::vector<std::uint32_t> starts{};
};

// Follows the periodic part back from the run's first anchor to its beginning. Launches that only
// the first iteration has (an optimizer sets up its state) do not stop the search.
//
// The launches before may end as an iteration does (a prompt's pass and a token): the boundary
// would be early by those launches. Where the host waits soon after, in each iteration, iterations
// begin there.
[[nodiscard, gnu::cold]] Boundary find_boundary(const LaunchLog& log,
                                                std::span<const std::uint32_t> positions,
                                                const Cycle& cycle);

// Returns true if the launches before `first` are not the cycle's: no iteration was under way.
[[nodiscard]] bool is_behind_others(const LaunchLog& log, std::size_t first, const Cycle& cycle);

}  // namespace inline_prof::schedule
