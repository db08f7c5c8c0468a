// Graphs: created, copied, destroyed, and asked for their nodes and edges.
#include "driver/call.hpp"
#include "driver/graph_build.hpp"

#include <algorithm>
#include <vector>

using namespace simgpu;

namespace {

CUgraphNode handle_of(const Node* node) {
  return reinterpret_cast<CUgraphNode>(const_cast<Node*>(node));
}

std::vector<const Node*> all_nodes(const Graph& graph) {
  std::vector<const Node*> nodes;
  for (const auto& node : graph.nodes)
    nodes.push_back(node.get());
  return nodes;
}

std::vector<const Node*> root_nodes(const Graph& graph) {
  std::vector<const Node*> nodes = all_nodes(graph);
  std::erase_if(nodes, [](const Node* node) { return !node->dependencies.empty(); });
  return nodes;
}

// cuda.h, cuGraphGetNodes: with nodes null the count is returned; else up to *count are written,
// the rest of the array is set to NULL, and *count is what was written.
void list(const std::vector<const Node*>& from, CUgraphNode* nodes, size_t* count) {
  require(count);
  if (nodes == nullptr) {
    *count = from.size();
    return;
  }
  const size_t written = std::min(*count, from.size());
  for (size_t i = 0; i < *count; ++i)
    nodes[i] = i < written ? handle_of(from[i]) : nullptr;
  *count = written;
}

struct FullEdge {
  const Node* from;
  const Node* to;
  CUgraphEdgeData data;
};

std::vector<FullEdge> edges_of(const Graph& graph) {
  std::vector<FullEdge> edges;
  for (const auto& node : graph.nodes) {
    for (const Edge& edge : node->dependencies)
      edges.push_back({edge.from, node.get(), edge.data});
  }
  return edges;
}

// Lists no other edges: of large graphs, each node is asked for.
std::vector<FullEdge> edges_into(const Node& node) {
  std::vector<FullEdge> edges;
  for (const Edge& edge : node.dependencies)
    edges.push_back({edge.from, &node, edge.data});
  return edges;
}

std::vector<FullEdge> edges_out_of(const Node& node) {
  std::vector<FullEdge> edges;
  for (const auto& other : node.graph->nodes) {
    for (const Edge& edge : other->dependencies) {
      if (edge.from == &node) edges.push_back({&node, other.get(), edge.data});
    }
  }
  return edges;
}

// cuda.h, cuGraphGetEdges: "edgeData may alone be NULL, in which case the edges must all have
// default (zeroed) edge data. Attempting a lossy query via NULL edgeData will result in
// ::CUDA_ERROR_LOSSY_QUERY."  A query of the number alone loses nothing.  The ends that are null
// are not asked for.
void list(const std::vector<FullEdge>& edges, CUgraphNode* from, CUgraphNode* to,
          CUgraphEdgeData* data, size_t* count) {
  require(count);
  require_value(data == nullptr || from != nullptr || to != nullptr);
  if (from == nullptr && to == nullptr) {
    *count = edges.size();
    return;
  }
  const bool are_default = std::ranges::all_of(edges, is_default, &FullEdge::data);
  if (data == nullptr && !are_default) throw Failure{CUDA_ERROR_LOSSY_QUERY};
  const size_t written = std::min(*count, edges.size());
  for (size_t i = 0; i < *count; ++i) {
    if (from != nullptr) from[i] = i < written ? handle_of(edges[i].from) : nullptr;
    if (to != nullptr) to[i] = i < written ? handle_of(edges[i].to) : nullptr;
    if (data != nullptr && i < written) data[i] = edges[i].data;
  }
  *count = written;
}

// All or none: a pair that is wrong leaves the graph as it was.
template <typename Change>
void change_edges(Simulator& s, CUgraph handle, const CUgraphNode* from, const CUgraphNode* to,
                  const CUgraphEdgeData* data, size_t count, const Change& change) {
  Graph& graph = s.graph(handle);
  const std::vector<Edge> edges = edges_to(s, from, data, count);
  require_value(count == 0 || to != nullptr);
  std::vector<std::pair<Node*, std::vector<Edge>>> before;
  try {
    for (size_t i = 0; i < count; ++i) {
      Node& target = s.node(to[i]);
      before.emplace_back(&target, target.dependencies);
      change(graph, target, edges[i]);
    }
  } catch (const Failure&) {
    for (auto saved = before.rbegin(); saved != before.rend(); ++saved)
      saved->first->dependencies = std::move(saved->second);
    throw;
  }
}

}  // namespace

SIMGPU_CALL(cuGraphCreate, cuGraphCreate_v10000, kOther, graph, flags) {
  require(graph);
  require_value(flags == 0);  // "Graph creation flags, must be 0"
  *graph = reinterpret_cast<CUgraph>(&create_graph(s));
}

SIMGPU_GET_OF(cuGraphClone, cuGraphClone_v10000, kOther,
              reinterpret_cast<CUgraph>(&clone_graph(s, s.graph(original))), original)

SIMGPU_CALL(cuGraphDestroy, cuGraphDestroy_v10000, kOther, graph) {
  Graph& doomed = s.graph(graph);
  // cuda.h, cuStreamGetCaptureInfo: "All operations other than destroy and node removal are
  // permitted on the graph while the capture sequence is in progress."
  require_value(!doomed.capture);
  // cuGraphChildGraphNodeGetGraph: "the node retains ownership of the graph".
  require_value(doomed.holder == nullptr);
  destroy_graph(s, doomed);
}

// "hClonedGraph must have been cloned from hOriginalGraph via ::cuGraphClone.  hOriginalNode must
// have been in hOriginalGraph at the time of the call".  So nodes of embedded graphs have no
// answer.
SIMGPU_CALL(cuGraphNodeFindInClone, cuGraphNodeFindInClone_v10000, kNone, found, original, clone) {
  require(found);
  const Node& wanted = s.node(original);
  const Graph& graph = s.graph(clone);
  require_value(graph.cloned_from == wanted.graph->id);
  const auto at = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                               [&](const auto& node) { return node->cloned_from == wanted.id; });
  require_value(at != graph.nodes.end());
  *found = handle_of(at->get());
}

SIMGPU_CALL(cuGraphGetNodes, cuGraphGetNodes_v10000, kNone, graph, nodes, count) {
  list(all_nodes(s.graph(graph)), nodes, count);
}

SIMGPU_CALL(cuGraphGetRootNodes, cuGraphGetRootNodes_v10000, kNone, graph, nodes, count) {
  list(root_nodes(s.graph(graph)), nodes, count);
}

SIMGPU_CALL(cuGraphGetEdges, cuGraphGetEdges_v10000, kNone, graph, from, to, count) {
  require_value((from == nullptr) == (to == nullptr));
  list(edges_of(s.graph(graph)), from, to, nullptr, count);
}

SIMGPU_CALL(cuGraphGetEdges_v2, cuGraphGetEdges_v12030, kNone, graph, from, to, data, count) {
  require_value((from == nullptr) == (to == nullptr));
  list(edges_of(s.graph(graph)), from, to, data, count);
}

SIMGPU_CALL(cuGraphNodeGetDependencies, cuGraphNodeGetDependencies_v10000, kNone, node, nodes,
            count) {
  list(edges_into(s.node(node)), nodes, nullptr, nullptr, count);
}

SIMGPU_CALL(cuGraphNodeGetDependencies_v2, cuGraphNodeGetDependencies_v12030, kNone, node, nodes,
            data, count) {
  list(edges_into(s.node(node)), nodes, nullptr, data, count);
}

SIMGPU_CALL(cuGraphNodeGetDependentNodes, cuGraphNodeGetDependentNodes_v10000, kNone, node, nodes,
            count) {
  list(edges_out_of(s.node(node)), nullptr, nodes, nullptr, count);
}

SIMGPU_CALL(cuGraphNodeGetDependentNodes_v2, cuGraphNodeGetDependentNodes_v12030, kNone, node,
            nodes, data, count) {
  list(edges_out_of(s.node(node)), nullptr, nodes, data, count);
}

SIMGPU_CALL(cuGraphAddDependencies, cuGraphAddDependencies_v10000, kOther, graph, from, to, count) {
  change_edges(s, graph, from, to, nullptr, count, add_dependency);
}

SIMGPU_CALL(cuGraphAddDependencies_v2, cuGraphAddDependencies_v12030, kOther, graph, from, to, data,
            count) {
  change_edges(s, graph, from, to, data, count, add_dependency);
}

SIMGPU_CALL(cuGraphRemoveDependencies, cuGraphRemoveDependencies_v10000, kOther, graph, from, to,
            count) {
  change_edges(s, graph, from, to, nullptr, count, remove_dependency);
}

SIMGPU_CALL(cuGraphRemoveDependencies_v2, cuGraphRemoveDependencies_v12030, kOther, graph, from, to,
            data, count) {
  change_edges(s, graph, from, to, data, count, remove_dependency);
}

SIMGPU_GET(cuGraphNodeGetType, cuGraphNodeGetType_v10000, kNone, type_of(s.node(node).work), node)

SIMGPU_CALL(cuGraphDestroyNode, cuGraphDestroyNode_v10000, kOther, node) {
  destroy_node(s, s.node(node));
}
