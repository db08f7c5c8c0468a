// The rows of a report for other programs: a spreadsheet, or a page.
#pragma once

#include "join/analysis.hpp"

#include <cstddef>
#include <string>

namespace inline_prof::report {

// Comma-separated values (RFC 4180, lines end with \n), a line for each event of each device, in
// order of their start; what is not known is an empty field.
[[nodiscard]] std::string csv_report(const join::Analysis& analysis);

// Markdown: the head, then a table of the merged rows, at most `top` of them (0: all).
[[nodiscard]] std::string markdown_report(const join::Analysis& analysis, std::size_t top);

}  // namespace inline_prof::report
