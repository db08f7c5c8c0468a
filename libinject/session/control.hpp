// Requests of prof-run ctl, which come by a file (sys/control_file.hpp).
#pragma once

#include "record/run_record.hpp"
#include "sys/detached_command.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace inline_prof::session {

class Session;

class Control {
 public:
  explicit Control(Session& session) : session_(session) {}

  void open(std::string path) { path_ = std::move(path); }

  // Called ten times a second on the writer's thread: carries out a request, and answers.
  void look();

 private:
  struct Answer {
    bool is_done = false;
    std::string sentence{};
  };
  [[nodiscard]] Answer carry_out(std::string_view request);
  [[nodiscard]] Answer pause(bool wanted);
  [[nodiscard]] Answer characterise();
  [[nodiscard]] Answer write();
  [[nodiscard]] std::string status();

  Session& session_;
  std::string path_;
  std::string last_;  // request: one whose answer cannot be written is not carried out again
};

// The user's command for changes that a watched run finds (INLINE_PROF_ON_CHANGE).
class ChangeCommand {
 public:
  // On a thread of the application's, see DetachedCommand.
  explicit ChangeCommand(std::string command) : command_(std::move(command)) {}

  struct Report {
    const record::FoundChange& change;
    std::string name;
    std::string text;
    std::string rank;  // empty: none
    std::string file;  // prof.json
  };
  // Starts the command, unless it was started less than a minute ago, or is still running. Returns
  // an empty string, or why it could not be started. Called on the writer's thread.
  [[nodiscard]] std::string tell(const Report& report, double now_s);

 private:
  sys::DetachedCommand command_;
  std::optional<double> started_s_{};
  std::uint64_t left_out_ = 0;  // changes since then
};

}  // namespace inline_prof::session
