// How a value is written into a table of comma-separated values.
#pragma once

#include "join/statistics.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace inline_prof::report {

// `text` in quotation marks where it needs them: a comma, a quotation mark or an end of line.
std::string csv_field(std::string_view text);

// All digits that a double has: another program goes on calculating with them.  Empty if not known.
std::string csv_number(const std::optional<double>& value);

// Two fields, both empty if not known.
std::string csv_interval(const std::optional<join::Interval>& interval);

}  // namespace inline_prof::report
