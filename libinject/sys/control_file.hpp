// The file of INLINE_PROF_CONTROL.  A request, "WORD" or "WORD ID", stands in it until the injected
// library replaces it by its answer: "done ID SENTENCE" or "refused ID SENTENCE".
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace inline_prof::sys {

inline constexpr std::array<std::string_view, 5> kControlRequests{"pause", "resume", "characterise",
                                                                  "write", "status"};
inline constexpr std::string_view kDone = "done";
inline constexpr std::string_view kRefused = "refused";

struct ControlText {
  std::string word{};
  std::string id{};
  std::string sentence{};
  std::string problem{};  // why the file is not read; empty: it was, or there is none
};

// Returns "pause, resume, characterise, write or status".
[[nodiscard]] std::string describe_control_requests();

// Reads a file that anybody may have put there: only a regular one of `owner`, never waiting.
[[nodiscard]] ControlText read_control_file(const std::string& path, uid_t owner);

}  // namespace inline_prof::sys
