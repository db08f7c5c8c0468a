#pragma once

#include "read/input_error.hpp"
#include "read/json_tree.hpp"
#include "read/torch_trace/event_list.hpp"

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace inline_prof::read {

// An iteration as a list of operators, and what it costs the host to start each: the input of the
// DLRM models' end-to-end time (model/published/dlrm/iteration.md).

struct IterationOperator {
  std::string name;
  bool is_mark = false;      // "## Forward ##": no operator
  bool is_modelled = false;  // `kernels_us` says what it launches
  bool has_collective = false;
  bool is_wait = false;
  bool uses_collective = false;  // reads what the last collective wrote
  bool has_children = true;
  std::vector<double> kernels_us;
};

// Microseconds, by operator; T1 to T5 of the DLRM models.
struct HostCosts {
  double between = 0.0;                                      // T1
  std::map<std::string, double> before;                      // T2: to the first launch
  std::map<std::string, double> after;                       // T3: from the last launch
  std::map<std::string, double> launch;                      // T4: in a call, by its name
  std::map<std::string, double> among;                       // T5: between launches
  std::map<std::string, std::vector<std::string>> launches;  // names of the calls
};

struct IterationGraph {
  std::string label;
  HostCosts costs;
  std::vector<IterationOperator> operators;  // in the order in which the host meets them
};

// Reads an iteration graph that is a part of a larger JSON document:
//
// {"t1": 3.0, "t2": {"aten::mm": 5.8}, "t3": {}, "t4": {"cudaLaunchKernel": 4.0}, "t5": {},
//  "launches": {"aten::mm": ["cudaLaunchKernel"]},
//  "nodes": [{"name": "aten::mm", "kind": "compute", "kernels_us": [40.1], "depends_on_comm":
//  false}]}
// with the kinds label, compute, memcpy, nolaunch, cpuonly, a2a, allreduce and wait.
// Throws InputError.
[[nodiscard]] IterationGraph graph_from(const TreeNode& node, const std::string& label);

// An iteration as tasks and what each of them waits for (docs/models/longest_path.md).

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

// A file for `prof-model iteration`: a trace, an iteration graph, a task graph, or a list of
// objects each of which holds a trace (as "trace") or is a graph.
struct IterationFile {
  bool is_list = false;
  std::vector<std::variant<Trace, IterationGraph, TaskGraph>> inputs;
};

// Throws InputError.
[[nodiscard]] IterationFile read_iteration_file(const std::filesystem::path& file);

}  // namespace inline_prof::read
