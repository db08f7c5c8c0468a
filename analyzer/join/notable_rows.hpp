// The rows that a report speaks of in words.  Rows that enclose others do not count: the prediction
// of a region is that of its parts.
#pragma once

#include "join/analysis.hpp"

#include <cstddef>
#include <vector>

namespace inline_prof::join {

// Pointers into Analysis::merged; null where there is no such row.
struct NotableRows {
  std::vector<const MergedRow*> slow;      // largest share first
  double slow_percent = 0.0;               // of the iteration, together
  std::size_t judged = 0;                  // that a prediction with an interval is held against
  std::size_t upper_bounds = 0;            // that may be slow, or only launched late
  const MergedRow* unpredicted = nullptr;  // the largest that is measured and not predicted
};

[[nodiscard]] NotableRows notable_rows(const Analysis& analysis);

// Returns the merged rows that were measured alone and have a time, those first that lose most in
// the run.
[[nodiscard]] std::vector<const MergedRow*> isolated_by_loss(const Analysis& analysis);

// Its prediction is a bare bound, without an interval.
[[nodiscard]] bool is_bound(const MergedRow& row);

}  // namespace inline_prof::join
