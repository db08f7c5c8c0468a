#pragma once

#include "join/analysis.hpp"

namespace inline_prof::join {

// Says of each merged row what the iteration would save if it took what is predicted for it, with
// everything else as it was measured, and lists those that would save something.  The shares must
// have been computed.
void find_worth_fixing(Analysis& analysis);

}  // namespace inline_prof::join
