#pragma once

#include "join/compare/compare.hpp"

#include <vector>

namespace inline_prof::join {

// Returns what differs between the machines, drivers and libraries of two runs.  A fact that one of
// the files does not give is no difference.
[[nodiscard]] std::vector<Difference> run_differences(const Analysis& before,
                                                      const Analysis& after);

}  // namespace inline_prof::join
