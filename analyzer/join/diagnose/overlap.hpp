#pragma once

#include "join/place/merge.hpp"
#include "join/rows/row.hpp"

#include <optional>
#include <vector>

namespace inline_prof::join {

// Kernels of CUDA graphs that overlap by programmatic dependent launch, per iteration: the sum of
// their times, each timed without its overlap, and the replays they are part of.
struct Overlap {
  double one_by_one_us = 0.0;
  double together_us = 0.0;
};

// Returns that of the graphs all parts of which were measured, and whose kernels overlap when they
// are not timed one by one; empty if there are none.
[[nodiscard]] std::optional<Overlap> overlap_of(const std::vector<Row>& rows,
                                                const std::vector<MergedRow>& merged);

}  // namespace inline_prof::join
