#include "join/notable_rows.hpp"
#include "report/columns.hpp"
#include "report/head.hpp"
#include "report/tables.hpp"
#include "report/text.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace inline_prof::report {
namespace {

// Escapes '|', which would end the cell, and anything that a renderer may take for HTML.
std::string markdown_cell(std::string_view text) {
  std::string cell;
  for (const char c : printable(text)) {
    if (c == '|') cell += '\\';
    if (c == '<') {
      cell += "&lt;";
    } else if (c == '&') {
      cell += "&amp;";
    } else {
      cell += c;
    }
  }
  return cell;
}

// Returns the heading, followed by the unit of a time unless it has it.
std::string heading(const Column<join::MergedRow>& column) {
  const std::string text(column.shown.heading);
  return column.unit == Unit::kMicroseconds && !text.ends_with(" us") ? text + " us" : text;
}

bool is_number(const Column<join::MergedRow>& column) {
  return column.unit != Unit::kNone || std::holds_alternative<std::int64_t>(column.type);
}

}  // namespace

std::string markdown_report(const join::Analysis& analysis, const TableOptions& options) {
  constexpr std::size_t head_width = 100;
  std::string out = "```\n" + head(analysis, head_width) + "```\n\n";
  const auto columns = columns_shown(analysis, &Shown<join::MergedRow>::markdown);
  std::string rule;
  for (const auto* column : columns) {
    out += fmt::format("| {} ", heading(*column));
    rule += is_number(*column) ? "|---:" : "|---";
  }
  out += "|\n" + rule + "|\n";
  for (const join::OrderedRow& place :
       join::row_order(analysis, options.top, options.layers).rows) {
    for (const auto* column : columns)
      out += "| " + markdown_cell(cell_text(*column, analysis.merged[place.row], " %")) + " ";
    out += "|\n";
  }
  return out;
}

}  // namespace inline_prof::report
