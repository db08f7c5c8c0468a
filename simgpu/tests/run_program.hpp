// A program on the simulated GPU: its exit status and what it printed.
#pragma once

#include <string>
#include <vector>

namespace simgpu {

struct ProgramRun {
  int exit_status = -1;  // -1: ended by a signal
  std::string output;    // stdout
  std::string errors;    // stderr

  // The lines of `output`.
  [[nodiscard]] std::vector<std::string> lines() const;
};

// `environment` holds NAME=VALUE; inherited SIMGPU_* and CUDA_INJECTION64_PATH are dropped.
[[nodiscard]] ProgramRun run_program(const std::vector<std::string>& command,
                                     const std::vector<std::string>& environment = {});

// A file of this test process that is deleted with it.  Its content, read or written.
[[nodiscard]] std::string scratch_file(const std::string& name);
[[nodiscard]] std::string read_file(const std::string& file);
[[nodiscard]] std::string write_file(const std::string& name, const std::string& content);

}  // namespace simgpu
