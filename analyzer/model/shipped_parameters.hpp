// The sets of parameters that are compiled into the program, by name: MODEL_MACHINE or
// MODEL_MACHINE_KEY, such as "gemm_h200-sxm-141gb_bf16".  Include this in .cpp files only: it
// brings a JSON library.
#pragma once

#include "read/parameters.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::model {

// Those of a model, for this machine; for "" of all machines.
[[nodiscard]] std::vector<std::string> shipped_sets(std::string_view model,
                                                    std::string_view machine_id);

// `name` is a shipped set's or a file.  Throws read::InputError.
[[nodiscard]] read::Parameters choose_parameters(const std::filesystem::path& name,
                                                 std::string_view model);

}  // namespace inline_prof::model
