#pragma once

#include "join/place/merge.hpp"
#include "join/place/placement.hpp"
#include "join/place/shares.hpp"
#include "join/rows/row.hpp"
#include "read/iteration_graph.hpp"

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

}  // namespace inline_prof::join
