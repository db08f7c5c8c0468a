#pragma once

#include "join/analysis.hpp"
#include "read/machine.hpp"

#include <span>
#include <string>
#include <string_view>

namespace inline_prof::report {

// Returns the report as one page, which needs no other file and no network.  Names from files are
// data in it: report/html/page.js shows them as text.  `machines` are the candidates for the
// roofline; samples are shown if the analysis has kept them.  The page can switch to
// `other_phases`, which are analyses of the same files.
[[nodiscard]] std::string html_report(const join::Analysis& analysis,
                                      std::span<const read::Machine> machines,
                                      std::span<const join::Analysis> other_phases = {});

// Returns a page of histories: layers and ranks by time, readings of the machines, and changes
// marked in all of them.  `json` is that of exports::history_json.
[[nodiscard]] std::string history_page(std::string_view json);

// True if this program was built with the library that draws the charts.  Without it the page has
// tables only.
[[nodiscard]] bool html_has_charts();

}  // namespace inline_prof::report
