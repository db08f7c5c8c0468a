// Writes values into a table of comma-separated values (RFC 4180).
#pragma once

#include <string>
#include <string_view>

namespace inline_prof::base {

// Returns `text` as a cell: in quotes if it holds a comma, a quote or a line break.
[[nodiscard]] std::string csv_cell(std::string_view text);

}  // namespace inline_prof::base
