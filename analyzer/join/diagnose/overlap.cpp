#include "join/diagnose/overlap.hpp"

#include <algorithm>
#include <map>

namespace inline_prof::join {

std::optional<Overlap> overlap_of(const std::vector<Row>& rows,
                                  const std::vector<MergedRow>& merged) {
  struct Graph {
    double kernels_us = 0.0;
    bool overlaps = false;
    bool is_complete = true;
  };
  std::map<std::size_t, Graph> graphs;  // by the merged row of the whole replay
  for (const MergedRow& row : merged) {
    if (!row.parent) continue;
    Graph& graph = graphs[*row.parent];
    graph.overlaps |= std::ranges::any_of(row.rows, [&](std::size_t device) {
      return rows[device].is_graph_node && rows[device].overlap_removed;
    });
    graph.is_complete &= row.corrected_us.has_value();
    graph.kernels_us += row.corrected_us.value_or(0.0) * static_cast<double>(row.calls);
  }
  std::optional<Overlap> overlap;
  for (const auto& [place, graph] : graphs) {
    const MergedRow& whole = merged[place];
    if (!graph.overlaps || !graph.is_complete || !whole.corrected_us) continue;
    if (!overlap) overlap.emplace();
    overlap->one_by_one_us += graph.kernels_us;
    overlap->together_us += *whole.corrected_us * static_cast<double>(whole.calls);
  }
  return overlap;
}

}  // namespace inline_prof::join
