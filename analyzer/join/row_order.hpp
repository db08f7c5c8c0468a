#pragma once

#include "join/analysis.hpp"

#include <cstddef>
#include <string_view>
#include <vector>

namespace inline_prof::join {

struct OrderedRow {
  std::size_t row = 0;    // index into Analysis::merged
  std::size_t depth = 0;  // how many regions enclose it
};

struct RowOrder {
  std::vector<OrderedRow> rows;
  // Left out: rows without a time and a prediction, and so are those inside them.
  std::size_t nothing_known = 0;
  std::size_t other_layers = 0;  // left out, too
};

// Merged rows as a person reads them: the largest first, inner rows below their region, at most
// `top` of them (0: all), and of layers whose end fits the glob if there is one.  Rows of unknown
// time come last.
[[nodiscard]] RowOrder row_order(const Analysis& analysis, std::size_t top,
                                 std::string_view layers = {});

}  // namespace inline_prof::join
