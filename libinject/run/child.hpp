// Runs programs.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace inline_prof::run {

struct Outcome {
  int exit_status = -1;  // -1: not started, or ended by a signal
  std::string output;    // standard output and standard error, in the order of writing
};

// Keeps the output. `command[0]` is a path. `variables` are set in the child's environment only.
[[nodiscard]] Outcome run_child(const std::vector<std::string>& command,
                                const std::vector<std::pair<std::string, std::string>>& variables);

// Returns `texts` as exec functions take them.
[[nodiscard]] std::vector<char*> pointers_to(std::vector<std::string>& texts);

}  // namespace inline_prof::run
