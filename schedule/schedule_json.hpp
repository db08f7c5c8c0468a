// schedule.json: what to measure and how, in one file.  The keys are explained in docs/schedule.md.
#pragma once

#include "schedule/request.hpp"

#include <string>
#include <string_view>

namespace inline_prof::schedule {

// Parses a schedule.json. Throws ScheduleError, with line and column, for text that is not JSON,
// for a value of a wrong type or out of range, and for "layers" that name nothing. An unknown key
// may come from a newer version: it is left out, and Spec::warnings names it and a known one
// that differs little.
[[nodiscard]] Spec parse_schedule_json(std::string_view text, const std::string& file);

// Returns the text that parse_schedule_json() reads back as `spec`, without the warnings. Throws
// ScheduleError, with the name, if a name is not UTF-8.
[[nodiscard]] std::string write_schedule_json(const Spec& spec);

}  // namespace inline_prof::schedule
