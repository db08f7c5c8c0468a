// The subcommands of prof-model, one file each, as the table in main.cpp lists them.  Results go to
// standard output, words to standard error.
#pragma once

#include "base/command_line.hpp"

namespace inline_prof::cli {

void declare_list(Command& command, int& status);
void declare_predict(Command& command, int& status);
void declare_fit(Command& command, int& status);
void declare_evaluate(Command& command, int& status);
void declare_iteration(Command& command, int& status);
void declare_convert(Command& command, int& status);
void declare_measure(Command& command, int& status);

}  // namespace inline_prof::cli
