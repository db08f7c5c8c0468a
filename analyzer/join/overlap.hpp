#pragma once

#include "join/analysis.hpp"

namespace inline_prof::join {

// Sets Analysis::overlap from the graphs whose kernels overlap when they are not timed one by one.
// The devices must have been merged.
void find_overlap(Analysis& analysis);

}  // namespace inline_prof::join
