// Whether a program can run on the simulated GPU.
#pragma once

#include <string>

namespace inline_prof::run {

// An empty string, or why not: the first function or library that is not simulated.  `program` is a
// path, `folder` the simulated GPU's.  Asks the dynamic linker, which resolves every symbol and
// runs nothing of the program.  Of a script nothing can be said: its interpreter is asked for.
[[nodiscard]] std::string why_not_simulated(const std::string& program, const std::string& folder);

// LD_LIBRARY_PATH with `folder` before what is there.
[[nodiscard]] std::string library_path_with(const std::string& folder);

}  // namespace inline_prof::run
