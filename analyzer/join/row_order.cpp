#include "join/row_order.hpp"

#include <algorithm>
#include <functional>

namespace inline_prof::join {

std::vector<OrderedRow> row_order(const Analysis& analysis, std::size_t top) {
  const auto& merged = analysis.merged;
  std::vector<std::vector<std::size_t>> children(merged.size());
  std::vector<std::size_t> outer;
  for (std::size_t i = 0; i < merged.size(); ++i) {
    (merged[i].parent ? children[*merged[i].parent] : outer).push_back(i);
  }
  const auto largest_first = [&](std::vector<std::size_t>& rows) {
    std::stable_sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) {
      return merged[a].in_iteration_us.value_or(-1.0) > merged[b].in_iteration_us.value_or(-1.0);
    });
  };

  std::vector<OrderedRow> order;
  std::vector<OrderedRow> to_do;
  const auto push = [&](std::vector<std::size_t> rows, std::size_t depth) {
    largest_first(rows);
    for (auto it = rows.rbegin(); it != rows.rend(); ++it)
      to_do.push_back({*it, depth});
  };
  push(outer, 0);
  while (!to_do.empty() && (top == 0 || order.size() < top)) {
    const OrderedRow next = to_do.back();
    to_do.pop_back();
    order.push_back(next);
    push(children[next.row], next.depth + 1);
  }
  return order;
}

}  // namespace inline_prof::join
