// Several kernels that could be one, or that a graph lets overlap.
#pragma once

#include "join/place/merge.hpp"
#include "join/rows/row.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::join {

// Element-wise kernels of one layer in a row on a stream, which a compiler would make one.
struct FusableRun {
  std::vector<std::size_t> rows;  // in the order of their launches
  double measured_us = 0;         // of all their calls in an iteration
  double fused_us = 0;            // of the kernels in their place
};

// Returns the layer in which a compiler could fuse; empty where only an operator is known.
[[nodiscard]] std::string layer_to_fuse_in(const Row& row);

// Returns those where fusing saves enough for a line.
[[nodiscard]] std::vector<FusableRun> fusable_runs(const std::vector<Row>& rows);

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
