// Prints the injected library's table of variables.
#pragma once

#include <string>

namespace inline_prof::run {

// Returns lines of text for a terminal.
[[nodiscard]] std::string environment_table();

// Returns [{"name", "default", "range", "meaning"}]
[[nodiscard]] std::string environment_json();

}  // namespace inline_prof::run
