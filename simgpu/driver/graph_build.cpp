#include "driver/graph_build.hpp"

#include "driver/call.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace simgpu {
namespace {

Graph& new_graph(Simulator& s) {
  auto owned = std::make_unique<Graph>();
  Graph& graph = *owned;
  graph.id = s.next_id++;
  s.graphs.emplace(&graph, std::move(owned));
  return graph;
}

bool is_kernel(const Work& work) {
  return std::holds_alternative<KernelWork>(work);
}

// cuda.h, CUgraphEdgeData: "Only kernel nodes define non-zero ports"; to_port "must be set to
// zero"; reserved bytes "must be zeroed".  CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC: "It may only be
// used between kernel nodes, and must be used with either the [...] PROGRAMMATIC or [...]
// LAUNCH_ORDER outgoing port."  CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC: "It must be used with edge
// type" PROGRAMMATIC.
void check_data(const Work& from, const Work& to, const CUgraphEdgeData& data) {
  require_value(data.to_port == 0);
  require_value(std::ranges::all_of(data.reserved, [](unsigned char byte) { return byte == 0; }));
  require_value(data.from_port <= CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER);
  require_value(data.from_port == 0 || is_kernel(from));
  require_value(data.type == CU_GRAPH_DEPENDENCY_TYPE_DEFAULT ||
                data.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
  const bool programmatic = data.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  require_value(!programmatic || (is_kernel(from) && is_kernel(to) && data.from_port != 0));
  require_value(programmatic || data.from_port != CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC);
}

void check_place(const Graph& graph, const Work& work) {
  // cuGraphChildGraphNodeGetGraph: "Allocation and free nodes cannot be added to the returned
  // graph."
  const bool is_memory =
      std::holds_alternative<AllocateWork>(work) || std::holds_alternative<FreeWork>(work);
  require_value(!is_memory || graph.holder == nullptr);
}

using Copies = std::unordered_map<const Node*, Node*>;

Graph& copy_graph(Simulator& s, const Graph& original);

// The copy of a node's work: graphs inside are copied too.
Work copied(Simulator& s, const Work& work) {
  if (const auto* child = std::get_if<ChildWork>(&work); child != nullptr) {
    return ChildWork{&copy_graph(s, *child->graph)};
  }
  return work;
}

void hold(Node& node) {
  for (Graph* body : node.bodies())
    body->holder = &node;
}

Node& append(Simulator& s, Graph& graph, Work work) {
  graph.nodes.push_back(std::make_unique<Node>());
  Node& node = *graph.nodes.back();
  node.graph = &graph;
  node.work = std::move(work);
  node.id = s.next_id++;
  hold(node);
  if (const auto* freeing = std::get_if<FreeWork>(&node.work); freeing != nullptr) {
    GraphMemory& memory = *freeing->memory;
    (memory.owner == graph.id ? memory.freed_by_owner : memory.freed_elsewhere) = true;
  }
  s.nodes.insert(&node);
  return node;
}

Graph& copy_graph(Simulator& s, const Graph& original) {
  Graph& copy = new_graph(s);
  copy.ordinal = original.ordinal;
  copy.is_clone = original.is_clone;
  Copies copies;
  for (const auto& node : original.nodes) {
    copies[node.get()] = &append(s, copy, copied(s, node->work));
  }
  for (const auto& node : original.nodes) {
    for (const Edge& edge : node->dependencies) {
      copies.at(node.get())->dependencies.push_back({copies.at(edge.from), edge.data});
    }
  }
  // Programming Guide 13.0, "CUDA User Objects": a copy of a graph has references of its own.
  copy.references.add_copies_of(original.references);
  return copy;
}

void mark_as_clone(Graph& graph) {
  graph.is_clone = true;
  for (const auto& node : graph.nodes) {
    for (Graph* body : node->bodies())
      mark_as_clone(*body);
  }
}

void forget_node(Simulator& s, Node& node) {
  for (Graph* body : node.bodies())
    destroy_graph(s, *body);
  if (const auto* freeing = std::get_if<FreeWork>(&node.work); freeing != nullptr) {
    if (freeing->memory->owner == node.graph->id) freeing->memory->freed_by_owner = false;
  }
  s.nodes.erase(&node);
}

Graph& graph_of(Simulator& s, const ExecBody& body) {
  Graph& graph = new_graph(s);
  graph.ordinal = body.graph_ordinal;
  graph.is_clone = body.is_clone;
  std::vector<Node*> made;
  for (const ExecNode& node : body.nodes) {
    Work work = node.is_enabled ? node.work : Work{EmptyWork{}};
    if (std::holds_alternative<ChildWork>(node.work)) {
      work = ChildWork{&graph_of(s, *node.bodies.front())};
    }
    Node& added = append(s, graph, std::move(work));
    for (const ExecEdge& edge : node.dependencies)
      added.dependencies.push_back({made.at(edge.from), edge.data});
    made.push_back(&added);
  }
  return graph;
}

}  // namespace

Graph& create_graph(Simulator& s) {
  Graph& graph = new_graph(s);
  graph.ordinal = ++s.graphs_created;
  return graph;
}

void destroy_graph(Simulator& s, Graph& graph) {
  for (const auto& node : graph.nodes)
    forget_node(s, *node);
  s.graphs.erase(&graph);
}

std::vector<Edge> edges_to(Simulator& s, const CUgraphNode* nodes, const CUgraphEdgeData* data,
                           std::size_t count) {
  require_value(count == 0 || nodes != nullptr);
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < count; ++i) {
    edges.push_back({&s.node(nodes[i]), data == nullptr ? CUgraphEdgeData{} : data[i]});
  }
  return edges;
}

Node& add_node(Simulator& s, Graph& graph, Work work, std::vector<Edge> dependencies) {
  for (auto edge = dependencies.begin(); edge != dependencies.end(); ++edge) {
    require_value(edge->from->graph == &graph);
    check_data(edge->from->work, work, edge->data);
    // "dependencies may not have any duplicate entries."
    require_value(std::none_of(dependencies.begin(), edge,
                               [&](const Edge& other) { return other.from == edge->from; }));
  }
  check_place(graph, work);
  Node& node = append(s, graph, std::move(work));
  node.dependencies = std::move(dependencies);
  return node;
}

void destroy_node(Simulator& s, Node& node) {
  Graph& graph = *node.graph;
  // cuda.h, cuStreamGetCaptureInfo: "All operations other than destroy and node removal are
  // permitted on the graph while the capture sequence is in progress."
  require_value(!graph.capture);
  // cuGraphDestroyNode: "Nodes which belong to a graph which contains allocation or free nodes
  // cannot be destroyed."
  require_value(!has_memory_nodes(graph));
  for (const auto& other : graph.nodes) {
    std::erase_if(other->dependencies, [&](const Edge& edge) { return edge.from == &node; });
  }
  forget_node(s, node);
  std::erase_if(graph.nodes, [&](const auto& owned) { return owned.get() == &node; });
}

void add_dependency(Graph& graph, Node& to, const Edge& edge) {
  // cuGraphAddDependencies: "Each node in from and to must belong to hGraph."  "Specifying an
  // existing dependency will return an error."
  require_value(to.graph == &graph && edge.from->graph == &graph && edge.from != &to);
  require_value(std::none_of(to.dependencies.begin(), to.dependencies.end(),
                             [&](const Edge& known) { return known.from == edge.from; }));
  check_data(edge.from->work, to.work, edge.data);
  to.dependencies.push_back(edge);
}

void remove_dependency(Graph& graph, Node& to, const Edge& edge) {
  require_value(to.graph == &graph && edge.from->graph == &graph);
  // cuGraphRemoveDependencies: "Dependencies cannot be removed from graphs which contain allocation
  // or free nodes."
  require_value(!has_memory_nodes(graph));
  // "Specifying an edge that does not exist in the graph, with data matching edgeData, results in
  // an error."
  const auto removed = std::erase_if(to.dependencies, [&](const Edge& known) {
    return known.from == edge.from && same_data(known.data, edge.data);
  });
  require_value(removed > 0);
}

Graph& clone_graph(Simulator& s, const Graph& original) {
  // cuGraphClone: "Cloning is not supported for graphs which contain memory allocation nodes,
  // memory free nodes, or conditional nodes."
  require_value(!has_memory_nodes(original));
  Graph& clone = copy_graph(s, original);
  clone.cloned_from = original.id;
  for (std::size_t i = 0; i < clone.nodes.size(); ++i)
    clone.nodes[i]->cloned_from = original.nodes[i]->id;
  mark_as_clone(clone);
  return clone;
}

Node& add_child(Simulator& s, Graph& parent, Graph& child, bool moves,
                std::vector<Edge> dependencies) {
  // CUDA_CHILD_GRAPH_NODE_PARAMS: "Graphs containing memory allocation or memory free nodes must
  // set the ownership to be moved to the parent."
  require_value(&child != &parent && !child.capture);
  require_value(moves || !has_memory_nodes(child));
  // CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE: "Cannot be added as a child graph of a separate parent
  // graph".
  require_value(!moves || child.holder == nullptr);
  for (const Node* holder = parent.holder; holder != nullptr; holder = holder->graph->holder)
    require_value(holder->graph != &child);
  Graph& held = moves ? child : copy_graph(s, child);
  try {
    return add_node(s, parent, ChildWork{&held}, std::move(dependencies));
  } catch (const Failure&) {
    if (!moves) destroy_graph(s, held);
    throw;
  }
}

Node& add_child_of_exec(Simulator& s, Graph& parent, const ExecBody& body,
                        std::vector<Edge> dependencies) {
  Graph& held = graph_of(s, body);
  try {
    return add_node(s, parent, ChildWork{&held}, std::move(dependencies));
  } catch (const Failure&) {
    destroy_graph(s, held);
    throw;
  }
}

}  // namespace simgpu
