// What is known of the place where standard output goes.
#pragma once

#include <cstddef>
#include <string>

namespace inline_prof::cli {

// COLUMNS if it is set to a number, else the terminal's columns, else 80; 40 to 1000.
[[nodiscard]] std::size_t terminal_width();

// Whether what is written to `output` ("-": standard output) is for a terminal that shows colours,
// and for a person who wants them: NO_COLOR (https://no-color.org) is respected.
[[nodiscard]] bool wants_colour(const std::string& output);

}  // namespace inline_prof::cli
