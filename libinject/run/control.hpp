// prof-run ctl: asks the injected library of running processes for something.
#pragma once

#include <string>
#include <vector>

namespace inline_prof::run {

// `words`: process ids, then the request. Prints a line a process. Waits for `seconds` at most.
// Returns true if all have done it. Throws UsageError.
[[nodiscard]] bool control(const std::vector<std::string>& words, int seconds);

}  // namespace inline_prof::run
