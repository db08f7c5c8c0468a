#include "run_program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <set>
#include <spawn.h>
#include <sstream>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

namespace simgpu {

std::vector<std::string> ProgramRun::lines() const {
  std::vector<std::string> result;
  std::istringstream text(output);
  for (std::string line; std::getline(text, line);)
    result.push_back(line);
  return result;
}

namespace {

// A file that is deleted with this process.
std::string scratch_file(const std::string& name) {
  std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
  std::replace(test.begin(), test.end(), '/', '.');  // of a parameterised test
  std::string file =
      testing::TempDir() + "/simgpu." + std::to_string(getpid()) + "." + test + "." + name;
  static struct Files : std::set<std::string> {
    ~Files() {
      for (const std::string& each : *this)
        std::remove(each.c_str());
    }
  } files;
  files.insert(file);
  return file;
}

std::string read_file(const std::string& file) {
  std::ifstream input(file);
  EXPECT_TRUE(input) << file;
  std::ostringstream text;
  text << input.rdbuf();
  return text.str();
}

// Returns the pointers that exec wants, with a null at the end.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers(texts.size() + 1, nullptr);
  std::transform(texts.begin(), texts.end(), pointers.begin(),
                 [](std::string& text) { return text.data(); });
  return pointers;
}

}  // namespace

ProgramRun run_program(const std::vector<std::string>& command,
                       const std::vector<std::string>& environment) {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!text.starts_with("SIMGPU_") && !text.starts_with("CUDA_INJECTION64_PATH=") &&
        !text.starts_with("LD_LIBRARY_PATH=") && !text.starts_with("LD_PRELOAD=")) {
      variables.emplace_back(text);
    }
  }
  variables.push_back("LD_LIBRARY_PATH=" SIMGPU_TEST_LIB_DIR);
  variables.insert(variables.end(), environment.begin(), environment.end());

  std::vector<std::string> arguments = command;
  const auto argv = pointers_to(arguments);
  const auto envp = pointers_to(variables);

  const std::string output = scratch_file("stdout");
  const std::string errors = scratch_file("stderr");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const int flags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), flags, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(), flags, 0600);
  pid_t child = 0;
  const int started =
      posix_spawn(&child, argv.front(), &actions, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  EXPECT_EQ(started, 0) << command.front();
  if (started != 0) return {};
  int status = 0;
  waitpid(child, &status, 0);
  return {.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
          .output = read_file(output),
          .errors = read_file(errors),
          .file = {},
          .truth = {}};
}

ProgramRun run_keeping(const char* variable, const std::vector<std::string>& command,
                       std::vector<std::string> environment) {
  const std::string file = scratch_file(variable);
  environment.push_back(variable + ("=" + file));
  ProgramRun run = run_program(command, environment);
  run.file = read_file(file);
  return run;
}

ProgramRun run_with_truth(const std::vector<std::string>& command,
                          const std::vector<std::string>& environment) {
  ProgramRun run = run_keeping("SIMGPU_TRUTH", command, environment);
  run.truth = nlohmann::json::parse(run.file);
  return run;
}

nlohmann::json row_of(const nlohmann::json& truth, const std::string& name) {
  for (const auto& row : truth.at("kernels")) {
    if (row.at("name").get<std::string>().find(name) != std::string::npos) return row;
  }
  ADD_FAILURE() << name << " is not in the truth file";
  return {};
}

std::string model_of(const std::string& text) {
  const std::string file = scratch_file("model.json");
  std::ofstream(file) << text;
  return "SIMGPU_MODEL=" + file;
}

}  // namespace simgpu
