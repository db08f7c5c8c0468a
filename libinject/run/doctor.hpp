// prof-run doctor: whether a program could be profiled here, check by check.
#pragma once

#include <string>
#include <vector>

namespace inline_prof::run {

enum class State { kOk, kWarn, kFail };

struct Check {
  std::string name;
  State state = State::kOk;
  std::string text;
};

// `library_path` is the library's path, empty where it was not found; `command` the program, empty
// where none was named.
[[nodiscard]] std::vector<Check> examine(const std::string& library_path,
                                         const std::string& command);

// One line a check: `OK    glibc        2.36`
[[nodiscard]] std::string as_table(const std::vector<Check>& checks);

// {"schema": "inline_prof_doctor/1", "ok": BOOL, "checks": [{"name", "state", "text"}]}
[[nodiscard]] std::string as_json(const std::vector<Check>& checks);

// False where a check failed.
[[nodiscard]] bool is_well(const std::vector<Check>& checks);

}  // namespace inline_prof::run
