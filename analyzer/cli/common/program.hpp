// A program of ours: what its help says, and its subcommands.
#pragma once

#include "base/command_line.hpp"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::cli {

// A row of a program's table of subcommands.  Help is made from it, and by help the man page, the
// completion and their test.
struct Subcommand {
  std::string_view name;
  std::string_view summary;
  std::string_view examples;  // lines
  // Adds the options.  The command sets `status`, which outlives the parsing, when it runs.
  void (*declare)(Command& command, int& status);
};

struct ProgramTexts {
  std::string_view name;
  std::string_view description;
  std::string_view examples;  // lines, of a use without a subcommand
  std::string_view end;       // of the help: exit statuses
};

// Runs the program and gives its exit status.  `declare` adds what belongs to no subcommand.
[[nodiscard]] int run_program(const ProgramTexts& texts, std::span<const Subcommand> subcommands,
                              int argc, const char* const* argv,
                              const std::function<void(Command&)>& declare);

// Runs another program in the place of this one: its name, which is looked up in PATH unless it is
// a path, and its arguments.  Throws std::runtime_error.
[[noreturn]] void become(std::vector<std::string> command);

}  // namespace inline_prof::cli
