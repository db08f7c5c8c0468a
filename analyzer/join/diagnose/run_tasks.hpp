#pragma once

#include "join/place/placement.hpp"
#include "join/rows/row.hpp"
#include "read/task_graph.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace inline_prof::join {

// The outermost rows of all runs as tasks, and the row that each of them is.
struct RunTasks {
  read::TaskGraph graph;
  std::vector<std::size_t> rows;  // of each task
};

// Reads off the times what waits for what, which no file says (docs/models/longest_path.md).  Tasks
// have no predictions yet.
[[nodiscard]] RunTasks tasks_of_runs(const std::vector<Row>& rows, const Placement& placement);

// A layer, an event and its occurrence, as --scale of prof-model iteration knows them.
[[nodiscard]] std::string task_name(const Row& row);

}  // namespace inline_prof::join
