// Graphs are built, changed, copied and destroyed.  What cuda.h forbids throws
// Failure{CUDA_ERROR_INVALID_VALUE} where the header names no other code.
#pragma once

#include "driver/simulator.hpp"

#include <vector>

namespace simgpu {

Graph& create_graph(Simulator& s);
void destroy_graph(Simulator& s, Graph& graph);

// Reads an array of nodes and an optional array of edge data that the host gives.
[[nodiscard]] std::vector<Edge> edges_to(Simulator& s, const CUgraphNode* nodes,
                                         const CUgraphEdgeData* data, std::size_t count);

// The dependencies are edges into the new node.
Node& add_node(Simulator& s, Graph& graph, Work work, std::vector<Edge> dependencies);
void destroy_node(Simulator& s, Node& node);

void add_dependency(Graph& graph, Node& to, const Edge& edge);
void remove_dependency(Graph& graph, Node& to, const Edge& edge);

// A copy that cuGraphNodeFindInClone knows.
Graph& clone_graph(Simulator& s, const Graph& original);

// Puts a graph into a new node.  `moves` gives the graph itself away, else a copy goes in.
Node& add_child(Simulator& s, Graph& parent, Graph& child, bool moves,
                std::vector<Edge> dependencies);

// A child graph as an executable graph is now: with its updates, without its disabled nodes.
Node& add_child_of_exec(Simulator& s, Graph& parent, const ExecBody& body,
                        std::vector<Edge> dependencies);

}  // namespace simgpu
