// Where our own files and the user's program are.
#pragma once

#include <string>

namespace inline_prof::run {

// libinline_prof.so, absolute; looked for in the build tree and in the installation that this
// program belongs to.  Empty if it is in neither.
[[nodiscard]] std::string find_library();

// The folder with the simulated GPU's libcuda.so.1, found likewise.
[[nodiscard]] std::string find_simulated_gpu();

// The folder with the Python package's sitecustomize.py, found likewise.
[[nodiscard]] std::string find_python_startup();

// As execvp finds it: a name without a slash is looked for in PATH.  Empty if it is not there.
[[nodiscard]] std::string find_program(const std::string& name);

}  // namespace inline_prof::run
