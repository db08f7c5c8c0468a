// The subcommands of prof-analyze, one file each.  Results go to standard output, words to standard
// error.
#pragma once

#include "base/command_line.hpp"

namespace inline_prof::cli {

// Exit statuses beside 0 (done) and those that main() gives: 1 (input) and 2 (command line).
inline constexpr int kGateFailed = 3;
inline constexpr int kGateUndecided = 4;

// One for each row of the table of subcommands in main.cpp.
void declare_compare(Command& command, int& status);
void declare_check(Command& command, int& status);
void declare_scaling(Command& command, int& status);
void declare_ranks(Command& command, int& status);
void declare_history(Command& command, int& status);
void declare_dataset(Command& command, int& status);

void declare_report(Command& program);  // without a subcommand

}  // namespace inline_prof::cli
