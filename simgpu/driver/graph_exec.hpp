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

// The node of `exec` that was made from `node`, with `change` applied to a copy: later launches see
// it.  `change` gets the ExecNode.
template <typename Change>
void change_node(GraphExec& exec, const Node& node, const Change& change) {
  auto body = std::make_shared<ExecBody>(*exec.body);
  for (ExecNode& candidate : body->nodes) {
    if (candidate.origin != node.id) continue;
    change(candidate);
    exec.body = std::move(body);
    return;
  }
  // Added after the instantiation, or of another graph.
  throw Failure{CUDA_ERROR_INVALID_VALUE};
}

[[nodiscard]] const ExecNode& node_in(const GraphExec& exec, const Node& node);

// As though the nodes inside the child graph node had been those of `graph`.
void change_child(GraphExec& exec, const Node& node, const Graph& graph);

// Throws unless the new work is a change that cuda.h allows to an executable graph.
void check_change(const Work& before, const Work& after);

}  // namespace simgpu
