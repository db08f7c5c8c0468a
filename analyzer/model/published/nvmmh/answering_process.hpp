// A program that answers each line with a line, in a process of its own: what it loads may crash
// without us.
#pragma once

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace inline_prof::model {

class AnsweringProcess {
 public:
  // Standard error goes nowhere.  Where the program cannot be started there is no answer.
  AnsweringProcess(std::vector<std::string> command, std::chrono::milliseconds patience);
  ~AnsweringProcess();
  AnsweringProcess(const AnsweringProcess&) = delete;
  AnsweringProcess& operator=(const AnsweringProcess&) = delete;

  // Returns the next line; empty once it has ended, or kept us waiting for too long.
  [[nodiscard]] std::optional<std::string> answer();
  [[nodiscard]] std::optional<std::string> ask(std::string_view line);
  // Returns why there is no answer: "ended by signal 11".
  [[nodiscard]] const std::string& complaint() const { return complaint_; }

 private:
  void end(std::string_view why);

  std::chrono::milliseconds patience_;
  int socket_ = -1;
  std::FILE* answers_ = nullptr;  // reads the socket
  pid_t child_ = -1;
  std::string complaint_;
};

}  // namespace inline_prof::model
