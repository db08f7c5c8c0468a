#include "runtime_run.hpp"

#include <gtest/gtest.h>

#include <cstdio>

namespace simgpu {

ProgramRun run(const std::vector<std::string>& arguments,
               const std::vector<std::string>& environment) {
  std::vector<std::string> command{RUNTIME_PROGRAM};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run_program(command, environment);
}

nlohmann::json truth_of(const std::vector<std::string>& arguments,
                        std::vector<std::string> environment) {
  const std::string file = scratch_file("truth.json");
  environment.push_back("SIMGPU_TRUTH=" + file);
  const ProgramRun result = run(arguments, environment);
  EXPECT_EQ(result.exit_status, 0) << result.output << result.errors;
  auto document = nlohmann::json::parse(read_file(file));
  std::remove(file.c_str());
  return document;
}

nlohmann::json row_of(const nlohmann::json& truth, const std::string& name) {
  for (const auto& row : truth.at("kernels")) {
    if (row.at("name").get<std::string>().find(name) != std::string::npos) return row;
  }
  ADD_FAILURE() << name << " is not in the truth file";
  return {};
}

}  // namespace simgpu
