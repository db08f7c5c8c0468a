// The injected library's table of variables, as prof-run shows it.
#pragma once

#include <string>

namespace inline_prof::run {

// Lines of text for a terminal.
[[nodiscard]] std::string environment_table();

// [{"name", "default", "range", "meaning"}]
[[nodiscard]] std::string environment_json();

}  // namespace inline_prof::run
