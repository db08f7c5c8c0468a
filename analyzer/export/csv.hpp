// How a value is written into a table of comma-separated values.
#pragma once

#include "join/analysis.hpp"
#include "join/rows/statistics.hpp"

#include <optional>
#include <string>

namespace inline_prof::exports {

// All digits that a double has: another program goes on calculating with them.  Empty if not known.
std::string csv_number(const std::optional<double>& value);

// Two fields, both empty if not known.
std::string csv_interval(const std::optional<join::Interval>& interval);

// Comma-separated values (RFC 4180, lines end with \n), a line for each event of each device, in
// order of their start; what is not known is an empty field.
[[nodiscard]] std::string csv_report(const join::Analysis& analysis);

}  // namespace inline_prof::exports
