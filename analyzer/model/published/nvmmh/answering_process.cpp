#include "model/published/nvmmh/answering_process.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace inline_prof::model {
namespace {

std::string error_text(int error) {
  return std::generic_category().message(error);
}

// 0, or why the program does not run.
int spawn(std::vector<std::string>& command, int socket, pid_t& child) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (std::string& word : command)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, socket, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  const int error =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

}  // namespace

AnsweringProcess::AnsweringProcess(std::vector<std::string> command,
                                   std::chrono::milliseconds patience)
    : patience_(patience) {
  std::array<int, 2> sockets{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
    complaint_ = "cannot be started: " + error_text(errno);
    return;
  }
  socket_ = sockets[0];
  answers_ = fdopen(socket_, "r");
  const timeval patience_s{.tv_sec = patience.count() / 1000,
                           .tv_usec = patience.count() % 1000 * 1000};
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience_s, sizeof patience_s);
  if (const int error = spawn(command, sockets[1], child_); error != 0) {
    child_ = -1;
    complaint_ = "cannot be started: " + error_text(error);
  }
  close(sockets[1]);
}

AnsweringProcess::~AnsweringProcess() {
  end("");
  if (answers_ != nullptr) std::fclose(answers_);
}

void AnsweringProcess::end(std::string_view why) {
  if (child_ < 0) return;
  kill(child_, SIGKILL);  // how a process ends that is ending already, this does not change
  int status = 0;
  while (waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
  if (!why.empty()) {
    complaint_ = why;
  } else if (WIFSIGNALED(status)) {
    complaint_ = fmt::format("ended by signal {}", WTERMSIG(status));
  } else {
    complaint_ = fmt::format("ended with status {}", WEXITSTATUS(status));
  }
}

std::optional<std::string> AnsweringProcess::answer() {
  if (child_ < 0) return std::nullopt;
  std::array<char, 4096> line{};
  errno = 0;
  while (std::fgets(line.data(), line.size(), answers_) == nullptr) {
    if (errno == EINTR) {
      std::clearerr(answers_);
      errno = 0;
      continue;
    }
    end(errno == EAGAIN ? fmt::format("gave no answer within {:g} s",
                                      std::chrono::duration<double>(patience_).count())
                        : "");
    return std::nullopt;
  }
  std::string text = line.data();
  if (!text.ends_with('\n')) {
    end(std::feof(answers_) != 0 ? "" : "gave an answer without an end");
    return std::nullopt;
  }
  text.pop_back();
  return text;
}

std::optional<std::string> AnsweringProcess::ask(std::string_view line) {
  if (child_ < 0) return std::nullopt;
  const std::string text = fmt::format("{}\n", line);
  // A peer that is gone is noticed when its answer is read.
  static_cast<void>(send(socket_, text.data(), text.size(), MSG_NOSIGNAL));
  return answer();
}

}  // namespace inline_prof::model
