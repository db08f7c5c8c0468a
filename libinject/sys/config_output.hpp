// Templates of file names: INLINE_PROF_OUT, INLINE_PROF_METRICS, INLINE_PROF_CONTROL.
#pragma once

#include <cstdint>
#include <optional>
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

// Returns the file's name: without a rank %r is 0. Throws ConfigError if it is none.
[[nodiscard]] std::string expand_output_template(const std::string& pattern, const char* variable,
                                                 const std::string& host_name, int process_id,
                                                 std::optional<std::int64_t> rank);

// Throws "VARIABLE=PATTERN: WHAT; known are ...".
[[noreturn]] void refuse_output_template(const std::string& pattern, const char* variable,
                                         const std::string& what);

}  // namespace inline_prof::sys
