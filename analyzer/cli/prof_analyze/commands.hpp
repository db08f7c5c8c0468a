// What prof-analyze does, one file each.  Results go to standard output, words to standard error.
#pragma once

#include "base/command_line.hpp"

namespace inline_prof::cli {

// Exit statuses beside 0 (done) and those that main() gives: 1 (input) and 2 (command line).
inline constexpr int kGateFailed = 3;
inline constexpr int kGateUndecided = 4;

// Each sets `status`, which outlives the program's parsing, when its command runs.
void declare_report(Command& program);  // without a subcommand
void declare_compare(Command& program, int& status);
void declare_check(Command& program, int& status);
void declare_scaling(Command& program);
void declare_ranks(Command& program);
void declare_dataset(Command& program, int& status);

}  // namespace inline_prof::cli
