// Templates of file names: INLINE_PROF_OUT, INLINE_PROF_METRICS.
#pragma once

#include <string>
#include <vector>

namespace inline_prof::sys {

struct OutputPart {
  enum class Kind { kText, kHostName, kProcessId, kRank, kVariable };
  Kind kind = Kind::kText;
  std::string text{};  // the text itself, or the variable's name
};

// Throws ConfigError if a % is not followed by h, p, r, q{VAR} or %. Messages name `variable`.
[[nodiscard]] std::vector<OutputPart> parse_output_template(const std::string& pattern,
                                                            const char* variable);

// Throws "VARIABLE=PATTERN: WHAT; known are ...".
[[noreturn]] void refuse_output_template(const std::string& pattern, const char* variable,
                                         const std::string& what);

}  // namespace inline_prof::sys
