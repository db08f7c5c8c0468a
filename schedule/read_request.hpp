// Finds a request, and reads it in the format that its file is in.
#pragma once

#include "schedule/request.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace inline_prof::schedule {

enum class Accept : std::uint8_t {
  kRegularFile,  // inside an application: a pipe or a device could block it for ever
  kAnyStream,    // in a program of our own; "-" is standard input
};

// Returns the whole content, at most `max_bytes`. Throws ScheduleError for a path that cannot be
// opened or is of a kind that is not accepted, and for more than `max_bytes`, before reading if the
// size is known.
[[nodiscard]] std::string read_text(const std::string& path, Accept accept,
                                    std::size_t max_bytes = kMaxFileBytes);

// Parses a request. The format follows from the name (*.json, *.schedule, *.events), else from the
// first line: `{` or a comment is a schedule.json, a lone integer a prof.schedule, anything else a
// prof.events. Throws ScheduleError.
[[nodiscard]] Request parse_request(std::string_view text, const std::string& file);
[[nodiscard]] Request read_request(const std::string& path, Accept accept = Accept::kRegularFile);

struct FoundRequest {
  std::string path;  // empty: there is none
  Request request;
};

// Returns the request, from the first of these that exists:
//   1. `named`, if it is not empty: the user asked for it, and it must exist;
//   2. schedule.json, prof.schedule, prof.events in `profiling_directory`, if that is not empty;
//   3. the same in the working directory;
//   4. nothing: every event is measured.
// Throws ScheduleError if the first that exists cannot be used.
[[nodiscard]] FoundRequest find_request(const std::string& named,
                                        const std::string& profiling_directory);

// The original profiler's two text files.
//
// Both parsers take the whole text, name `file` in their messages, and throw ScheduleError for
// everything that could be understood in two ways.  Lines may end in "\n" or "\r\n", the last one
// in nothing; empty lines and a UTF-8 byte-order mark are skipped.

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
