#pragma once

#include "join/compare/compare.hpp"
#include "report/table_report.hpp"

#include <string>

namespace inline_prof::report {

// Lines for a terminal: what differs, the iteration, the layers, then the events, at most
// `options.top` of each (0: all).
[[nodiscard]] std::string compare_table(const join::Comparison& comparison,
                                        const TableOptions& options);

}  // namespace inline_prof::report
