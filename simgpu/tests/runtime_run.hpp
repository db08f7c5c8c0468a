// Runs of runtime_program.cu.
#pragma once

#include "run_program.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace simgpu {

inline std::vector<std::string> runtime_command(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), RUNTIME_PROGRAM);
  return arguments;
}

inline ProgramRun run(const std::vector<std::string>& arguments,
                      const std::vector<std::string>& environment = {}) {
  return run_program(runtime_command(arguments), environment);
}

inline nlohmann::json truth_of(const std::vector<std::string>& arguments,
                               const std::vector<std::string>& environment = {}) {
  const ProgramRun result = run_with_truth(runtime_command(arguments), environment);
  EXPECT_EQ(result.exit_status, 0) << result.output << result.errors;
  return result.truth;
}

}  // namespace simgpu
