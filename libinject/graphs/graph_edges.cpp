#include "graphs/graph_edges.hpp"

#include "sys/graph_api.hpp"

#include <algorithm>

namespace inline_prof::graphs {
namespace {

bool is_programmatic(const CUgraphEdgeData& edge) {
  return edge.from_port == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC && edge.to_port == 0 &&
         edge.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
}

bool is_full(const CUgraphEdgeData& edge) {
  return edge.from_port == 0 && edge.to_port == 0 && edge.type == CU_GRAPH_DEPENDENCY_TYPE_DEFAULT;
}

using Query = CUresult(CUDAAPI*)(CUgraphNode, CUgraphNode*, CUgraphEdgeData*, std::size_t*);

// cuda.h, cuGraphNodeGetDependencies: entries beyond the last are set to null, and the number is
// that of those obtained.  Asking for the number alone may be refused where edges carry data.
CUresult ask(Query query, CUgraphNode node, Edges& edges) {
  if (query == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  constexpr std::size_t most = std::size_t{1} << 20;
  for (std::size_t room = 16;; room *= 4) {
    edges.nodes.assign(room, nullptr);
    edges.data.assign(room, {});
    std::size_t count = room;
    const CUresult result = query(node, edges.nodes.data(), edges.data.data(), &count);
    if (result == CUDA_SUCCESS && count >= room && room < most) continue;  // there may be more
    count = result == CUDA_SUCCESS ? std::min(count, room) : 0;
    edges.nodes.resize(count);
    edges.data.resize(count);
    return result;
  }
}

}  // namespace

bool Edges::are_full() const {
  return std::all_of(data.begin(), data.end(), is_full);
}

bool Edges::can_be_full() const {
  return std::all_of(data.begin(), data.end(), [](const CUgraphEdgeData& edge) {
    return is_full(edge) || is_programmatic(edge);
  });
}

CUresult edges_to(CUgraphNode node, Edges& edges) {
  return ask(sys::graph_api().get_dependencies, node, edges);
}

CUresult edges_from(CUgraphNode node, Edges& edges) {
  return ask(sys::graph_api().get_dependents, node, edges);
}

}  // namespace inline_prof::graphs
