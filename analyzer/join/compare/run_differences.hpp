#pragma once

#include "join/compare/compare.hpp"

#include <vector>

namespace inline_prof::join {

// What differs between the machines, drivers and libraries of two runs.  What one of the files does
// not say is no difference.
[[nodiscard]] std::vector<Difference> run_differences(const Analysis& before,
                                                      const Analysis& after);

}  // namespace inline_prof::join
