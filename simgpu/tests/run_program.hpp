// A program on the simulated GPU: its exit status, what it printed, and the files that it left.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace simgpu {

struct ProgramRun {
  int exit_status = -1;  // -1: ended by a signal
  std::string output;    // stdout
  std::string errors;    // stderr
  std::string file;      // of run_keeping
  nlohmann::json truth;  // of run_with_truth

  // The lines of `output`.
  [[nodiscard]] std::vector<std::string> lines() const;
};

// `environment` holds NAME=VALUE; inherited SIMGPU_* and CUDA_INJECTION64_PATH are dropped.
[[nodiscard]] ProgramRun run_program(const std::vector<std::string>& command,
                                     const std::vector<std::string>& environment = {});

// The same, with the content of the file that `variable` tells the simulator to write.
[[nodiscard]] ProgramRun run_keeping(const char* variable, const std::vector<std::string>& command,
                                     std::vector<std::string> environment = {});
// The same for SIMGPU_TRUTH.
[[nodiscard]] ProgramRun run_with_truth(const std::vector<std::string>& command,
                                        const std::vector<std::string>& environment = {});

// The first row of a truth file whose kernel name contains `name`.
[[nodiscard]] nlohmann::json row_of(const nlohmann::json& truth, const std::string& name);

// Writes a model file, which is deleted with this process; returns "SIMGPU_MODEL=FILE".
[[nodiscard]] std::string model_of(const std::string& text);

}  // namespace simgpu
