// An iteration as tasks and what each of them waits for
// (docs/models/longest_path.md).
#pragma once

#include "read/input_error.hpp"
#include "read/json_tree.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::read {

// Waits for the end of another task, and then a while.
struct Wait {
  std::size_t task = 0;  // index into TaskGraph::tasks
  double delay_us = 0.0;
};

// A kernel, a layer, or what the host does; it runs without a break.
struct Task {
  std::string name;
  double time_us = 0.0;
  std::optional<double> predicted_us;  // what it should take
  double not_before_us = 0.0;          // from the start of the iteration
  std::vector<Wait> waits;
};

struct TaskGraph {
  std::vector<Task> tasks;
  // Collectives: the tasks of one meeting, one of each rank, start together, as soon as all could.
  std::vector<std::vector<std::size_t>> meetings;
};

inline constexpr const char* kTaskGraphSchema = "inline_prof_iteration/1";

// Reads a task graph that is a part of a larger JSON document:
//
// {"schema": "inline_prof_iteration/1",
//  "tasks": [{"name": "fc1", "time_us": 40, "predicted_us": 30, "not_before_us": 0,
//             "waits": [{"task": 0, "delay_us": 1.5}], "meeting": "all_reduce 0"}]}
// "name" and "time_us" are required; tasks with the same "meeting" start together.
// Throws InputError.
[[nodiscard]] TaskGraph task_graph_from(const TreeNode& node);

}  // namespace inline_prof::read
