// The edges of a graph's node, with their data.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <vector>

namespace inline_prof::graphs {

struct Edges {
  std::vector<CUgraphNode> nodes;  // at the other ends
  std::vector<CUgraphEdgeData> data;

  [[nodiscard]] std::size_t size() const { return nodes.size(); }
  // True if a node waits until all nodes that it depends on have ended.
  [[nodiscard]] bool are_full() const;
  // A full edge, which waits for longer, can take the place of each: none carries other data than
  // that it leaves from a kernel's programmatic port.
  [[nodiscard]] bool can_be_full() const;
};

[[nodiscard]] CUresult edges_to(CUgraphNode node, Edges& edges);
[[nodiscard]] CUresult edges_from(CUgraphNode node, Edges& edges);

}  // namespace inline_prof::graphs
