#pragma once

#include "join/analysis.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace inline_prof::report {

struct TableOptions {
  std::size_t top = 0;     // only this many rows, the largest; 0: all
  std::size_t width = 80;  // columns; longer names lose their middle
  bool colour = false;     // for a terminal
};

// Columns of the table behind the name of a row, as join/columns.hpp calls them.
inline constexpr std::array<std::string_view, 8> kTableColumns{
    "share_percent", "calls",        "raw_us", "raw_ci95_us",
    "corrected_us",  "predicted_us", "bound",  "verdict"};

// The report for a terminal: a head, then two lines a row (one, where there is room), the largest
// share first and what a region encloses directly below it.
[[nodiscard]] std::string table_report(const join::Analysis& analysis, const TableOptions& options);

}  // namespace inline_prof::report
