#include "report/markdown_report.hpp"

#include "join/columns.hpp"
#include "join/row_order.hpp"
#include "report/head.hpp"
#include "report/text.hpp"

#include <fmt/format.h>

#include <iterator>
#include <optional>
#include <string_view>

namespace inline_prof::report {
namespace {

// A | would end the cell, and a renderer may take what looks like HTML for that.
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

// The title of a time, with its unit where it leaves that out.
std::string heading(std::string_view name) {
  const std::string title(join::column_of<join::MergedRow>(name).title);
  return name.ends_with("_us") && !title.ends_with(" us") ? title + " us" : title;
}

std::string markdown_number(const std::optional<double>& value) {
  return value ? fmt::format("{:.2f}", *value) : "";
}

}  // namespace

std::string markdown_report(const join::Analysis& analysis, std::size_t top) {
  constexpr std::size_t head_width = 100;
  std::string out = "```\n" + head(analysis, head_width) + "```\n\n";
  std::string rule;
  for (const std::string_view name :
       {"layer", "event", "share_percent", "calls", "raw_us", "corrected_us", "predicted_us",
        "vendor_estimate_us", "bound", "verdict"}) {
    if (name == "vendor_estimate_us" && analysis.vendor.empty()) continue;
    out += fmt::format("| {} ", heading(name));
    const bool is_number = name.ends_with("_us") || name.ends_with("_percent") || name == "calls";
    rule += is_number ? "|---:" : "|---";
  }
  out += "|\n" + rule + "|\n";
  for (const join::OrderedRow& place : join::row_order(analysis, top).rows) {
    const join::MergedRow& row = analysis.merged[place.row];
    std::string event = markdown_cell(readable_event(row.event, row.source));
    if (row.occurrence > 0) event += fmt::format(" #{}", row.occurrence);
    fmt::format_to(std::back_inserter(out), "| {} | {} | {} | {} | {} | {} | {} {}| {} | {} |\n",
                   markdown_cell(row.layer), event,
                   row.share_percent ? fmt::format("{:.1f} %", *row.share_percent) : "", row.calls,
                   markdown_number(row.raw_us), markdown_number(row.corrected_us),
                   markdown_number(row.predicted_us),
                   analysis.vendor.empty()
                       ? ""
                       : fmt::format("| {} ", markdown_number(row.vendor_estimate_us)),
                   row.bound, markdown_cell(join::verdict_text(row)));
  }
  return out;
}

}  // namespace inline_prof::report
