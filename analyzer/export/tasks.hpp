#pragma once

#include "join/analysis.hpp"

#include <string>

namespace inline_prof::exports {

// The works of the iteration, for prof-model iteration.
[[nodiscard]] std::string tasks_report(const join::Analysis& analysis);

}  // namespace inline_prof::exports
