#include "driver/graph_exec.hpp"

#include "driver/call.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace simgpu {
namespace {

[[noreturn]] void refuse(CUgraphInstantiateResult result, const Node* node) {
  throw InstantiationFailure{{CUDA_ERROR_INVALID_VALUE}, result, node};
}

// An order in which the nodes can run (J. Kahn, CACM 5(11), 1962, doi:10.1145/368996.369025); among
// nodes that are ready, the order of creation.
std::shared_ptr<const ExecBody> snapshot(const Graph& graph) {
  std::unordered_map<const Node*, std::size_t> place;
  auto body = std::make_shared<ExecBody>();
  body->graph_ordinal = graph.ordinal;
  body->is_clone = graph.is_clone;
  body->nodes.reserve(graph.nodes.size());
  while (place.size() < graph.nodes.size()) {
    const auto before = place.size();
    const Node* waiting = nullptr;
    for (std::size_t created = 0; created < graph.nodes.size(); ++created) {
      const Node& node = *graph.nodes[created];
      if (place.contains(&node)) continue;
      ExecNode made{.work = node.work, .dependencies = {}, .origin = node.id, .place = created};
      for (const Edge& edge : node.dependencies) {
        const auto at = place.find(edge.from);
        if (at == place.end()) break;
        made.dependencies.push_back({at->second, edge.data});
      }
      if (made.dependencies.size() < node.dependencies.size()) {
        waiting = &node;
        continue;
      }
      for (const Graph* inner : node.bodies())
        made.bodies.push_back(snapshot(*inner));
      place.emplace(&node, body->nodes.size());
      body->nodes.push_back(std::move(made));
    }
    // CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE: "such as cycles".
    if (place.size() == before) refuse(CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE, waiting);
  }
  return body;
}

const Context* context_of(const Work& work) {
  if (const auto* kernel = std::get_if<KernelWork>(&work)) return kernel->context;
  if (const auto* copy = std::get_if<CopyWork>(&work)) return copy->context;
  if (const auto* fill = std::get_if<FillWork>(&work)) return fill->context;
  return nullptr;
}

UserReferences references_of(const Graph& graph) {
  UserReferences references;
  references.add_copies_of(graph.references);
  for (const auto& node : graph.nodes) {
    for (const Graph* body : node->bodies())
      references.add_copies_of(references_of(*body));
  }
  return references;
}

void leave_references(Simulator& s, GraphExec& exec) {
  if (exec.last_launch && !exec.references.empty()) {
    s.leaving.push_back({exec.last_launch, std::move(exec.references)});
  }
}

CUgraphNode handle_of(const Node* node) {
  return reinterpret_cast<CUgraphNode>(const_cast<Node*>(node));
}

const Node* find_node(const Graph& graph, unsigned long long id) {
  for (const auto& node : graph.nodes) {
    if (node->id == id) return node.get();
  }
  return nullptr;
}

// cuGraphExecUpdate, "Limitations".  The result for one pair of nodes of the same type.
CUgraphExecUpdateResult compare(const Work& was, const Work& now, unsigned long long flags) {
  if (const auto* before = std::get_if<KernelWork>(&was)) {
    const auto& after = std::get<KernelWork>(now);
    // "The owning context of the function cannot change."
    if (before->context != after.context) {
      return CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
    }
    // "A cooperative node cannot be updated to a non-cooperative node, and vice-versa."  "If the
    // graph was instantiated with CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY, the priority
    // attribute cannot change."
    const bool uses_priority = (flags & CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY) != 0;
    if (before->is_cooperative() != after.is_cooperative() ||
        (uses_priority && before->priority() != after.priority())) {
      return CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED;
    }
  }
  if (const auto* before = std::get_if<FillWork>(&was)) {
    // "For 2d memsets, only address and assigned value may be updated."
    const auto& after = std::get<FillWork>(now);
    const bool same = before->rows == after.rows && before->width == after.width &&
                      before->element_bytes == after.element_bytes && before->pitch == after.pitch;
    if ((before->rows > 1 || after.rows > 1) && !same) {
      return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
    }
  }
  if (const auto* before = std::get_if<AllocateWork>(&was)) {
    if (before->memory != std::get<AllocateWork>(now).memory) {
      return CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
    }
  }
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

CUgraphExecUpdateResultInfo compare(const ExecBody& was, const ExecBody& now, const Graph& graph,
                                    unsigned long long flags) {
  const auto at = [&](const ExecNode& node) { return find_node(graph, node.origin); };
  const auto failure = [&](CUgraphExecUpdateResult result, const Node* node, const Node* from) {
    return CUgraphExecUpdateResultInfo{
        .result = result, .errorNode = handle_of(node), .errorFromNode = handle_of(from)};
  };
  // "The count of nodes directly in hGraphExec and hGraph differ, in which case
  // resultInfo->errorNode is set to NULL."
  if (was.nodes.size() != now.nodes.size()) {
    return failure(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, nullptr, nullptr);
  }
  for (std::size_t i = 0; i < now.nodes.size(); ++i) {
    const ExecNode& before = was.nodes[i];
    const ExecNode& after = now.nodes[i];
    // "A node in hGraph has a different number of dependencies than the node from hGraphExec it is
    // paired with, in which case resultInfo->errorNode is set to the node from hGraph."
    if (before.dependencies.size() != after.dependencies.size()) {
      return failure(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, at(after), nullptr);
    }
    // "resultInfo->errorFromNode will be set to the mismatched dependency."
    for (std::size_t j = 0; j < after.dependencies.size(); ++j) {
      const ExecEdge& edge = after.dependencies[j];
      if (before.dependencies[j].from != edge.from ||
          !same_data(before.dependencies[j].data, edge.data)) {
        return failure(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, at(after),
                       at(now.nodes[edge.from]));
      }
    }
    if (before.work.index() != after.work.index()) {
      return failure(CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, at(after), nullptr);
    }
    const auto result = compare(before.work, after.work, flags);
    if (result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return failure(result, at(after), nullptr);
    const auto inner = at(after)->bodies();
    for (std::size_t body = 0; body < inner.size(); ++body) {
      const auto info = compare(*before.bodies[body], *after.bodies[body], *inner[body], flags);
      if (info.result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return info;
    }
  }
  return failure(CU_GRAPH_EXEC_UPDATE_SUCCESS, nullptr, nullptr);
}

// `now` as an update of `was`: its nodes are still those of the graph that was instantiated.
std::shared_ptr<const ExecBody> updated(const ExecBody& was, const ExecBody& now) {
  auto body = std::make_shared<ExecBody>(now);
  body->graph_ordinal = was.graph_ordinal;
  body->is_clone = was.is_clone;
  for (std::size_t i = 0; i < body->nodes.size(); ++i) {
    ExecNode& node = body->nodes[i];
    node.origin = was.nodes[i].origin;
    node.is_enabled = was.nodes[i].is_enabled;
    for (std::size_t inner = 0; inner < node.bodies.size(); ++inner) {
      node.bodies[inner] = updated(*was.nodes[i].bodies[inner], *node.bodies[inner]);
    }
  }
  return body;
}

}  // namespace

GraphExec& instantiate(Simulator& s, Graph& graph, unsigned long long flags) {
  constexpr unsigned long long known =
      CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
      CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
  require_value((flags & ~known) == 0);
  // cuda.h, cuStreamBeginCaptureToGraph: "not instantiable until the user calls
  // cuStreamEndCapture".
  require_value(!graph.capture);
  // CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE: "Cannot be independently instantiated or destroyed".
  require_value(graph.holder == nullptr);
  auto made = std::make_unique<GraphExec>();
  if (has_memory_nodes(graph)) {
    // "there can be at most one executable graph in existence for that graph at a time"
    require_value(graph.instantiation.expired());
    made->instantiation = std::make_shared<int>(0);
    graph.instantiation = made->instantiation;
  }
  made->body = snapshot(graph);
  // CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD "will not be returned by" cuGraphExecGetFlags.
  made->flags = flags & ~static_cast<unsigned long long>(CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD);
  made->references = references_of(graph);
  GraphExec& exec = *made;
  s.execs.emplace(&exec, std::move(made));
  return exec;
}

// cuGraphExecDestroy: "If the executable graph is in-flight, it will not be terminated, but rather
// freed asynchronously on completion."
void destroy_exec(Simulator& s, GraphExec& exec) {
  leave_references(s, exec);
  s.execs.erase(&exec);
  s.let_go();
}

CUgraphExecUpdateResultInfo update(Simulator& s, GraphExec& exec, const Graph& graph) {
  const auto fresh = snapshot(graph);
  auto info = compare(*exec.body, *fresh, graph, exec.flags);
  if (info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS) {
    exec.body = updated(*exec.body, *fresh);
    // Programming Guide 13.0, "CUDA User Objects": on an update "the references in the new source
    // graph are cloned and replace the references in the target executable graph", which are held
    // until earlier launches have ended.
    leave_references(s, exec);
    exec.references = references_of(graph);
  }
  return info;
}

const ExecNode& node_in(const GraphExec& exec, const Node& node) {
  const auto at = std::ranges::find(exec.body->nodes, node.id, &ExecNode::origin);
  require_value(at != exec.body->nodes.end());
  return *at;
}

void change_child(GraphExec& exec, const Node& node, const Graph& graph) {
  change_node(exec, node, [&](ExecNode& target) {
    require_value(std::holds_alternative<ChildWork>(target.work));
    const auto fresh = snapshot(graph);
    const ExecBody& was = *target.bodies.front();
    const auto info = compare(was, *fresh, graph, exec.flags);
    require_value(info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
    target.bodies.front() = updated(was, *fresh);
  });
}

void check_change(const Work& before, const Work& after) {
  require_value(before.index() == after.index());
  require_value(context_of(before) == context_of(after));
  if (const auto* copy = std::get_if<CopyWork>(&before)) {
    // cuGraphExecMemcpyNodeSetParams: "Both the instantiation-time memory operands and the memory
    // operands in copyParams must be 1-dimensional.  Zero-length operations are not supported."
    const auto& now = std::get<CopyWork>(after);
    require_value(copy->is_flat() && now.is_flat() && now.width > 0);
  }
  if (const auto* fill = std::get_if<FillWork>(&before)) {
    // cuGraphExecMemsetNodeSetParams: "for 2d memsets, all dimension changes are rejected.  For 1d
    // memsets, changes in height are explicitly rejected".
    const auto& now = std::get<FillWork>(after);
    require_value(fill->rows == now.rows && now.width > 0);
    require_value(fill->rows == 1 ||
                  (fill->width == now.width && fill->element_bytes == now.element_bytes &&
                   fill->pitch == now.pitch));
  }
}

}  // namespace simgpu
