// Runs of runtime_program.cu, and what they leave behind.
#pragma once

#include "run_program.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace simgpu {

[[nodiscard]] ProgramRun run(const std::vector<std::string>& arguments,
                             const std::vector<std::string>& environment = {});

// The truth file of such a run.
[[nodiscard]] nlohmann::json truth_of(const std::vector<std::string>& arguments,
                                      std::vector<std::string> environment = {});

// The first row of a truth file whose kernel name contains `name`.
[[nodiscard]] nlohmann::json row_of(const nlohmann::json& truth, const std::string& name);

}  // namespace simgpu
