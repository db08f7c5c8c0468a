// The file of INLINE_PROF_CONTROL.  A request, "WORD" or "WORD ID", stands in it until the injected
// library replaces it by its answer: "done ID SENTENCE" or "refused ID SENTENCE".
#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>

namespace inline_prof::sys {

inline constexpr std::string_view kControlRequests = "pause, resume, characterise, write or status";
inline constexpr std::string_view kDone = "done";
inline constexpr std::string_view kRefused = "refused";

struct ControlText {
  std::string word{};
  std::string id{};
  std::string sentence{};
  std::string problem{};  // why the file is not read; empty: it was, or there is none
};

// Reads a file that anybody may have put there: only a regular one of `owner`, never waiting.
[[nodiscard]] ControlText read_control_file(const std::string& path, uid_t owner);

}  // namespace inline_prof::sys
