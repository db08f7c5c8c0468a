#pragma once

#include "join/analysis.hpp"

#include <cstddef>
#include <string>

namespace inline_prof::report {

struct TableOptions {
  std::size_t top = 0;     // only this many rows, the largest; 0: all
  std::size_t width = 80;  // columns; longer names lose their middle
  bool colour = false;     // for a terminal
};

// The report for a terminal: a head, then two lines a row (one, where there is room), the largest
// share first and what a region encloses directly below it.
[[nodiscard]] std::string table_report(const join::Analysis& analysis, const TableOptions& options);

}  // namespace inline_prof::report
