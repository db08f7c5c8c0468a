// Properties of the place where standard output goes.
#pragma once

#include <cstddef>
#include <string>

namespace inline_prof::cli {

// Returns COLUMNS if it is set to a number, else the terminal's columns, else 80; 40 to 1000.
[[nodiscard]] std::size_t terminal_width();

// True if `output` ("-": standard output) is a terminal that shows colours, and NO_COLOR
// (https://no-color.org) is not set.
[[nodiscard]] bool wants_colour(const std::string& output);

}  // namespace inline_prof::cli
