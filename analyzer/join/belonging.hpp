#pragma once

#include "join/analysis.hpp"

#include <string>
#include <vector>

namespace inline_prof::join {

// What speaks against the files being the ranks of one run: generations or programs that differ, a
// rank that is there twice, one that is not there.  A report is made of them all the same, since
// somebody may want to see two runs side by side; each sentence names files or ranks.
[[nodiscard]] std::vector<std::string> belonging_warnings(const std::vector<Run>& runs);

}  // namespace inline_prof::join
