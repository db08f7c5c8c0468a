// Finds our own files and the user's program.
#pragma once

#include <string>

namespace inline_prof::run {

// Returns the absolute path of libinline_prof.so in the build tree or the installation that this
// program belongs to. Empty if it is in neither.
[[nodiscard]] std::string find_library();

// Returns the folder with the simulated GPU's libcuda.so.1, found likewise.
[[nodiscard]] std::string find_simulated_gpu();

// Returns the folder with the Python package's sitecustomize.py, found likewise.
[[nodiscard]] std::string find_python_startup();

// Returns the program that execvp would find: a name without a slash is searched for in PATH. Empty
// if it is not there.
[[nodiscard]] std::string find_program(const std::string& name);

}  // namespace inline_prof::run
