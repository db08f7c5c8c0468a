// Executable graphs: made, changed, launched.
#pragma once

#include "driver/simulator.hpp"

#include <memory>

namespace simgpu {

// Why an instantiation fails, as cuGraphInstantiateWithParams tells it.
struct InstantiationFailure : Failure {
  CUgraphInstantiateResult result;
  const Node* node;
};

[[nodiscard]] GraphExec& instantiate(Simulator& s, Graph& graph, unsigned long long flags);
void destroy_exec(Simulator& s, GraphExec& exec);

// The whole graph: cuGraphExecUpdate.
[[nodiscard]] CUgraphExecUpdateResultInfo update(Simulator& s, GraphExec& exec, const Graph& graph);

template <typename Change>
bool change_in(std::shared_ptr<const ExecBody>& body, unsigned long long origin,
               const Change& change) {
  auto copy = std::make_shared<ExecBody>(*body);
  for (ExecNode& node : copy->nodes) {
    bool is_changed = node.origin == origin;
    if (is_changed) change(node);
    for (auto& inner : node.bodies)
      is_changed = is_changed || change_in(inner, origin, change);
    if (!is_changed) continue;
    body = std::move(copy);
    return true;
  }
  return false;
}

// Changes the ExecNode that was made from `node`, in a copy, which later launches see.
template <typename Change>
void change_node(GraphExec& exec, const Node& node, const Change& change) {
  // Else it was added after the instantiation, or is of another graph.
  if (!change_in(exec.body, node.id, change)) throw Failure{CUDA_ERROR_INVALID_VALUE};
}

[[nodiscard]] const ExecNode& node_in(const GraphExec& exec, const Node& node);

// As though the nodes inside the child graph node had been those of `graph`.
void change_child(GraphExec& exec, const Node& node, const Graph& graph);

// Throws unless the new work is a change that cuda.h allows to an executable graph.
void check_change(const Work& before, const Work& after);

}  // namespace simgpu
