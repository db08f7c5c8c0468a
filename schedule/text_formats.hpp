// The original profiler's two text files.
//
// Both parsers take the whole text, name `file` in their messages, and throw ScheduleError for
// everything that could be understood in two ways.  Lines may end in "\n" or "\r\n", the last one
// in nothing; empty lines and a UTF-8 byte-order mark are skipped.
#pragma once

#include "schedule/request.hpp"

#include <string>
#include <string_view>

namespace inline_prof::schedule {

// prof.schedule: the number of warm-up iterations, then a line per sample,
//
//   EVENT ITERATION LAYER OCCURRENCE
//
// with one blank between two fields.  Iterations ascend, one event each; the layer `-` is empty.
[[nodiscard]] SampleList parse_prof_schedule(std::string_view text, const std::string& file);

// prof.events: an event name per line.
[[nodiscard]] EventNames parse_prof_events(std::string_view text, const std::string& file);

// Returns true if the first line is an integer and nothing else, as in a prof.schedule.
[[nodiscard]] bool starts_with_an_integer_line(std::string_view text);

// Return the text that the parsers above read back. Throw ScheduleError, with the name, if a name
// cannot stand in the format, and if samples are out of order or missing.
[[nodiscard]] std::string write_prof_schedule(const SampleList& list);
[[nodiscard]] std::string write_prof_events(const EventNames& events);

}  // namespace inline_prof::schedule
