#pragma once

#include "join/analysis.hpp"
#include "read/machine.hpp"

#include <span>
#include <string>

namespace inline_prof::report {

// The report as one page that needs nothing else, no network either.  Everything that comes from
// files is data in it (report/html/page.js shows it as text), whatever it looks like.  `machines`
// are those whose rooflines are drawn; samples are shown if the analysis has kept them.
// `other_phases` are analyses of the same files, to which the page can switch.
[[nodiscard]] std::string html_report(const join::Analysis& analysis,
                                      std::span<const read::Machine> machines,
                                      std::span<const join::Analysis> other_phases = {});

// Whether this program was built with the library that draws the charts; without it the page has
// its tables only.
[[nodiscard]] bool html_has_charts();

}  // namespace inline_prof::report
