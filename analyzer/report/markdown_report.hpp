// The rows of a report for other programs: a spreadsheet, or a page.
#pragma once

#include "join/analysis.hpp"

#include <cstddef>
#include <string>

namespace inline_prof::report {

// Markdown: the head, then a table of the merged rows, at most `top` of them (0: all).
[[nodiscard]] std::string markdown_report(const join::Analysis& analysis, std::size_t top);

}  // namespace inline_prof::report
