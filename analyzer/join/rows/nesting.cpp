#include "join/rows/nesting.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace inline_prof::join {

void find_nesting(std::vector<Row>& rows) {
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Enclosing rows come before what they enclose: they start earlier or, starting together, end
  // later.
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const auto key = [&](std::size_t i) {
      return std::make_tuple(rows[i].profile, rows[i].device_id, rows[i].stream_index,
                             rows[i].start_index, -rows[i].end_index);
    };
    return key(a) < key(b);
  });
  const auto same_stream = [&](const Row& a, const Row& b) {
    return a.profile == b.profile && a.device_id == b.device_id && a.stream_index == b.stream_index;
  };

  // The chain of rows that may enclose the next one, each ending before the one under it.
  std::vector<std::size_t> open;
  for (const std::size_t i : order) {
    Row& row = rows[i];
    // A row that ends before this one only overlaps it, or has ended when it starts.  It is no
    // parent of a later row either: that starts within this row, too, and this one is nearer.
    while (!open.empty() &&
           (!same_stream(rows[open.back()], row) || rows[open.back()].end_index < row.end_index)) {
      open.pop_back();
    }
    if (!open.empty()) {
      row.parent = open.back();
      rows[open.back()].is_region = true;
    }
    open.push_back(i);
  }
}

std::vector<std::vector<std::size_t>> children_of(const std::vector<Row>& rows) {
  std::vector<std::vector<std::size_t>> children(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].parent) children[*rows[i].parent].push_back(i);
  }
  return children;
}

}  // namespace inline_prof::join
