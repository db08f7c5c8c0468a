#pragma once

#include "join/analysis.hpp"

#include <cstddef>
#include <vector>

namespace inline_prof::join {

struct OrderedRow {
  std::size_t row = 0;    // index into Analysis::merged
  std::size_t depth = 0;  // how many regions enclose it
};

struct RowOrder {
  std::vector<OrderedRow> rows;
  std::size_t nothing_known =
      0;  // left out: rows without a time and a prediction, and so are those inside them
};

// Merged rows as a person reads them: the largest first, inner rows below their region, at most
// `top` of them (0: all).  Rows of unknown time come last.
[[nodiscard]] RowOrder row_order(const Analysis& analysis, std::size_t top);

}  // namespace inline_prof::join
