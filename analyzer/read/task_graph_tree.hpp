// A task graph inside a larger JSON document.  Include this in .cpp files only.
#pragma once

#include "read/json_tree.hpp"
#include "read/task_graph.hpp"

namespace inline_prof::read {

inline constexpr const char* kTaskGraphSchema = "inline_prof_iteration/1";

// {"schema": "inline_prof_iteration/1",
//  "tasks": [{"name": "fc1", "time_us": 40, "predicted_us": 30, "not_before_us": 0,
//             "waits": [{"task": 0, "delay_us": 1.5}], "meeting": "all_reduce 0"}]}
// "name" and "time_us" are required; tasks with the same "meeting" start together.
// Throws InputError.
[[nodiscard]] TaskGraph task_graph_from(const TreeNode& node);

}  // namespace inline_prof::read
