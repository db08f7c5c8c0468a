// Checks whether a program can run on the simulated GPU.
#pragma once

#include <string>

namespace inline_prof::run {

// Returns an empty string, or the first function or library that is not simulated. `program` is a
// path, `folder` the simulated GPU's. The dynamic linker resolves every symbol and runs nothing of
// the program. For a script the result is empty.
[[nodiscard]] std::string why_not_simulated(const std::string& program, const std::string& folder);

// Returns LD_LIBRARY_PATH with `folder` in front.
[[nodiscard]] std::string library_path_with(const std::string& folder);

}  // namespace inline_prof::run
