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

}  // namespace inline_prof::schedule
