#pragma once

#include "join/analysis.hpp"
#include "read/machine.hpp"

#include <span>
#include <string>

namespace inline_prof::report {

// What report/html/page.js shows, as JSON without a '<', so that it can stand in a page.  A format
// between these two files only: tables are columns side by side, names are numbers into "names".
struct PageData {
  std::string report;
  std::string samples;  // of each row; "[]" if the analysis has kept none
};
[[nodiscard]] PageData page_data(const join::Analysis& analysis,
                                 std::span<const read::Machine> machines);

}  // namespace inline_prof::report
