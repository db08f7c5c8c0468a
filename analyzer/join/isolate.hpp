// Times of a run beside those of the same operations alone on the GPU: what makes the difference?
#pragma once

#include "join/analysis.hpp"
#include "read/isolated.hpp"
#include "read/op.hpp"

#include <vector>

namespace inline_prof::join {

// Fills in Row::isolated where the operation was measured alone, and warns where none was.  `ops`
// are those of the rows, null where they are not known.  Rows must have been predicted.
void set_isolated(Analysis& analysis, const std::vector<const read::Op*>& ops,
                  const read::IsolatedTimes& times);

// The same for merged rows: that of the device that takes longest.
void merge_isolated(Analysis& analysis);

}  // namespace inline_prof::join
