// The subcommands of prof-model, one file each: each function adds one to the program, with its
// options and with what it does.  Results go to standard output, words to standard error.
#pragma once

#include "base/command_line.hpp"

namespace inline_prof::cli {

void declare_list(Command& program);
void declare_predict(Command& program);
void declare_fit(Command& program);
void declare_evaluate(Command& program);
void declare_iteration(Command& program);
void declare_convert(Command& program);
void declare_measure(Command& program);

}  // namespace inline_prof::cli
