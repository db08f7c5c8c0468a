// The tasks of an iteration that is given as operators and what the host spends on each.
#pragma once

#include "read/iteration_graph.hpp"
#include "read/task_graph.hpp"

namespace inline_prof::model {

// Returns the tasks: those of the host follow each other and are named "host: OPERATOR"; a kernel,
// named as its operator, waits for its launch, for the kernel before it on its stream, and for the
// collective whose result it uses.  Operators before the first mark are left out. Throws
// std::invalid_argument where a cost is missing.
[[nodiscard]] read::TaskGraph operator_tasks(const read::IterationGraph& graph);

}  // namespace inline_prof::model
