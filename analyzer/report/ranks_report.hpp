#pragma once

#include "join/ranks/ranks.hpp"
#include "report/table_report.hpp"

#include <string>

namespace inline_prof::report {

// Lines for a terminal: slow devices, stragglers and collectives, at most `options.top` of
// each (0: all).
[[nodiscard]] std::string ranks_table(const join::RankComparison& comparison,
                                      const TableOptions& options);

}  // namespace inline_prof::report
