// Starts a command of the user's from inside the application, which does not notice.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace inline_prof::sys {

// A command and its environment: that of the application at the time of construction, without
// LD_PRELOAD and whatever else would profile the command.
class DetachedCommand {
 public:
  using Variables = std::span<const std::pair<std::string, std::string>>;

  // Reads `environ`, so the thread must be one of the application's that may call getenv().
  explicit DetachedCommand(std::string command);

  // Runs `/bin/sh -c COMMAND` in a session of its own, with no open file but /dev/null as standard
  // input, output and error. Returns an empty string or a sentence; nothing is told of the
  // command's end. The application is sent no SIGCHLD, and wait() finds no child: the command is
  // the child of a process that ends at once. That one ends without a signal, and is waited for
  // here. Refused where the system would give the orphan to the application.
  //
  // Blocks the calling thread until the shell has started. Only a thread with all signals blocked
  // may call it. Nothing of the application's memory is copied, whatever its size.
  [[nodiscard]] std::string start(Variables variables);

  // Returns true while a process of the command that was started last is alive.
  [[nodiscard]] bool is_running() const;

 private:
  std::string command_;
  std::vector<std::string> environment_;
  int process_group_ = 0;  // of the last command; 0: none
};

}  // namespace inline_prof::sys
