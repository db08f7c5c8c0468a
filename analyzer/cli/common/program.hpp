// A program of ours: what its help says, and its subcommands.
#pragma once

#include "base/command_line.hpp"

#include <chrono>
#include <cstddef>
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

// A line on a terminal that says how far long work has come.  It disappears with this object, and
// appears only on a terminal and after a second of work.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Reads the clock at every 1024th call only, so it may be called for every row.
  void step(std::size_t done, std::size_t all) {
    if ((++calls_ & 1023U) == 0) show(done, all);
  }
  // For work without a count.
  void say(std::string_view state);

 private:
  void show(std::size_t done, std::size_t all);
  [[nodiscard]] bool is_due();

  std::string what_;
  bool is_terminal_;
  bool has_written_ = false;
  std::size_t calls_ = 0;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace inline_prof::cli
