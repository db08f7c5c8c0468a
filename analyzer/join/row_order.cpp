#include "join/row_order.hpp"

#include "base/glob.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace inline_prof::join {

RowOrder row_order(const Analysis& analysis, std::size_t top, std::string_view layers) {
  const auto& merged = analysis.merged;
  RowOrder order;
  // A layer fits whatever encloses it: blocks.2 is GPT.blocks.2.
  const std::string glob = fmt::format("*{}", layers);
  const auto is_other = [&](const MergedRow& row) {
    return !layers.empty() && !base::glob_matches(glob, row.layer);
  };
  std::vector<bool> shown(merged.size(), false);
  for (std::size_t i = 0; i < merged.size(); ++i) {
    const MergedRow& row = merged[i];
    if (is_other(row)) continue;
    if (!row.raw_us && !row.predicted_us && row.in_iteration_us.value_or(0) <= 0) continue;
    for (std::optional<std::size_t> at = i; at && !shown[*at]; at = merged[*at].parent)
      shown[*at] = true;
  }
  std::vector<std::vector<std::size_t>> children(merged.size());
  std::vector<std::size_t> outer;
  for (std::size_t i = 0; i < merged.size(); ++i) {
    if (!shown[i]) {
      ++(is_other(merged[i]) ? order.other_layers : order.nothing_known);
      continue;
    }
    (merged[i].parent ? children[*merged[i].parent] : outer).push_back(i);
  }
  const auto largest_first = [&](std::vector<std::size_t>& rows) {
    std::stable_sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) {
      return merged[a].in_iteration_us.value_or(-1.0) > merged[b].in_iteration_us.value_or(-1.0);
    });
  };

  std::vector<OrderedRow> to_do;
  const auto push = [&](std::vector<std::size_t> rows, std::size_t depth) {
    largest_first(rows);
    for (auto it = rows.rbegin(); it != rows.rend(); ++it)
      to_do.push_back({*it, depth});
  };
  push(outer, 0);
  while (!to_do.empty() && (top == 0 || order.rows.size() < top)) {
    const OrderedRow next = to_do.back();
    to_do.pop_back();
    order.rows.push_back(next);
    push(children[next.row], next.depth + 1);
  }
  return order;
}

}  // namespace inline_prof::join
