#pragma once

#include "join/place/placement.hpp"
#include "join/rows/row.hpp"
#include "read/work_graph.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace inline_prof::join {

// The outermost rows of all runs as works, and the row that each of them is.
struct RunWork {
  read::WorkGraph graph;
  std::vector<std::size_t> rows;  // of each work
};

// Reads off the times what waits for what, which no file says (docs/models/longest_path.md).  Works
// have no predictions yet.
[[nodiscard]] RunWork work_of_runs(const std::vector<Row>& rows, const Placement& placement);

// A layer, an event and its occurrence, as --scale of prof-model iteration knows them.
[[nodiscard]] std::string work_name(const Row& row);

}  // namespace inline_prof::join
