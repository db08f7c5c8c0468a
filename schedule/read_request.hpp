// Where a request is found, and which of the three formats a file is in.
#pragma once

#include "schedule/request.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace inline_prof::schedule {

enum class Accept : std::uint8_t {
  kRegularFile,  // inside a host: a pipe or a device could keep it waiting for ever
  kAnyStream,    // in a program of our own; "-" is standard input
};

// The whole content, at most `max_bytes`.  Throws ScheduleError for a path that cannot be opened or
// is of a kind that is not accepted, and for more than `max_bytes`, before reading where the size
// is known.
[[nodiscard]] std::string read_text(const std::string& path, Accept accept,
                                    std::size_t max_bytes = kMaxFileBytes);

// The format follows from the name (*.json, *.schedule, *.events), and where that says nothing
// from the first line: `{` or a comment is a schedule.json, a lone integer a prof.schedule,
// anything else a prof.events.  Throws ScheduleError.
[[nodiscard]] Request parse_request(std::string_view text, const std::string& file);
[[nodiscard]] Request read_request(const std::string& path, Accept accept = Accept::kRegularFile);

struct FoundRequest {
  std::string path;  // empty: nothing was asked for
  Request request;
};

// What to measure, from the first of these that is there:
//   1. `named`, where it is not empty: the user said so, and it must be there;
//   2. schedule.json, prof.schedule, prof.events in `profiling_directory`, where it is not empty;
//   3. the same in the working directory;
//   4. nothing: everything met is measured.
// Throws ScheduleError where the first that is there cannot be used: the next one is not what was
// asked for.
[[nodiscard]] FoundRequest find_request(const std::string& named,
                                        const std::string& profiling_directory);

}  // namespace inline_prof::schedule
