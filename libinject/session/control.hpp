// Requests of prof-run ctl, which come by a file (sys/control_file.hpp).
#pragma once

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

}  // namespace inline_prof::session
