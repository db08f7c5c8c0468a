#include "run/child.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <spawn.h>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

namespace inline_prof::run {
namespace {

std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& variables) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    bool replaced = false;
    for (const auto& variable : variables)
      replaced = replaced || variable.first == name;
    if (!replaced) environment.emplace_back(text);
  }
  for (const auto& [name, value] : variables) {
    std::string entry = name;
    environment.push_back(entry.append("=").append(value));
  }
  return environment;
}

std::string read_to_the_end(int file) {
  std::string text;
  std::array<char, 4096> part{};
  while (true) {
    const ssize_t length = read(file, part.data(), part.size());
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(length));
  }
}

}  // namespace

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts)
    pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

Outcome run_child(const std::vector<std::string>& command,
                  const std::vector<std::pair<std::string, std::string>>& variables) {
  std::array<int, 2> pipe_ends{};
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDERR_FILENO);

  std::vector<std::string> arguments = command;
  std::vector<std::string> environment = environment_with(variables);
  pid_t child = 0;
  const int error = posix_spawn(&child, command.front().c_str(), &actions, nullptr,
                                pointers_to(arguments).data(), pointers_to(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  Outcome outcome;
  if (error == 0) {
    outcome.output = read_to_the_end(pipe_ends[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status)) outcome.exit_status = WEXITSTATUS(status);
  }
  close(pipe_ends[0]);
  return outcome;
}

}  // namespace inline_prof::run
