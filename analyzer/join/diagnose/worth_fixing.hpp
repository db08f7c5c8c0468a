#pragma once

#include "join/place/merge.hpp"
#include "join/place/placement.hpp"
#include "join/rows/row.hpp"
#include "read/iteration_input.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::join {

struct LongestPathFindings {
  read::TaskGraph tasks;                   // the outermost rows, and what each seems to wait for
  std::optional<double> longest_path_us;   // through the tasks
  std::optional<double> all_predicted_us;  // that, if every row met its prediction
  // The longest path through the predictions, measured times where there are none; and through the
  // ends of their intervals.  What the host launches late stays where it is.
  std::optional<double> predicted_path_us;
  std::optional<Interval> predicted_path_ci90_us;
  double predicted_part = 0.0;      // of the tasks' time: 1 where all have a prediction
  std::string longest_path_reason;  // why there is none
};

struct WorthFixing {
  LongestPathFindings path;
  // MergedRow::saved_us_if_predicted of each; none if there is no path.
  std::vector<std::optional<double>> saved_us;
  std::vector<std::string> warnings;
};

// Finds the longest path, and asks of each merged row what the iteration would take if it met its
// prediction.
[[nodiscard]] WorthFixing find_worth_fixing(const std::vector<Row>& rows,
                                            const std::vector<MergedRow>& merged,
                                            const Placement& placement,
                                            const IterationShares& shares);

// Returns `merged` with what each would save.
[[nodiscard]] std::vector<MergedRow> with_savings(
    std::vector<MergedRow> merged, const std::vector<std::optional<double>>& saved_us);

// Several kernels that could be one, or that a graph lets overlap.

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
