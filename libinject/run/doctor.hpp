// prof-run doctor: checks whether a program could be profiled here.
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

// Runs the checks. `library_path` is empty if the library was not found, `command` if no program
// was named.
[[nodiscard]] std::vector<Check> examine(const std::string& library_path,
                                         const std::string& command);

// Returns one line a check: `OK    glibc        2.36`
[[nodiscard]] std::string as_table(const std::vector<Check>& checks);

// Returns {"schema": "inline_prof_doctor/1", "ok": BOOL, "checks": [{"name", "state", "text"}]}
[[nodiscard]] std::string as_json(const std::vector<Check>& checks);

// Returns false if a check failed.
[[nodiscard]] bool is_well(const std::vector<Check>& checks);

}  // namespace inline_prof::run
