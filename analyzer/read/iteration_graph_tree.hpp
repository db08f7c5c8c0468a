// An iteration graph inside a larger JSON document.  Include this in .cpp files only.
#pragma once

#include "read/iteration_graph.hpp"
#include "read/json_tree.hpp"

namespace inline_prof::read {

// {"t1": 3.0, "t2": {"aten::mm": 5.8}, "t3": {}, "t4": {"cudaLaunchKernel": 4.0}, "t5": {},
//  "launches": {"aten::mm": ["cudaLaunchKernel"]},
//  "nodes": [{"name": "aten::mm", "kind": "compute", "kernels_us": [40.1], "depends_on_comm":
//  false}]}
// with the kinds label, compute, memcpy, nolaunch, cpuonly, a2a, allreduce and wait.
// Throws InputError.
[[nodiscard]] IterationGraph graph_from(const TreeNode& node, const std::string& label);

}  // namespace inline_prof::read
