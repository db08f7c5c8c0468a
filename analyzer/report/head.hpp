#pragma once

#include "join/analysis.hpp"

#include <cstddef>
#include <string>

namespace inline_prof::report {

// What stands above the rows of a report: where the iteration goes, how far predictions are off,
// what profiling cost, and everything that a reader has to know before he believes a number.
[[nodiscard]] std::string head(const join::Analysis& analysis, std::size_t width);

}  // namespace inline_prof::report
