// The sets of parameters that are compiled into the program, by name: MODEL_MACHINE or
// MODEL_MACHINE_KEY, such as "gemm_h200-sxm-141gb_bf16".  Include this in .cpp files only: it
// brings a JSON library.
#pragma once

#include "model/model.hpp"
#include "read/machine.hpp"
#include "read/parameters.hpp"

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::model {

struct ParameterText {
  std::string_view file_name;  // the set's name and .json
  std::string_view text;
};
[[nodiscard]] std::span<const ParameterText> parameter_texts();  // generated from params/*.json

// Returns the sets of a model for this machine; for "", those of all machines.
[[nodiscard]] std::vector<std::string> shipped_sets(std::string_view model,
                                                    std::string_view machine_id);

// Returns the set of `model` for this machine and key, or for a machine whose multiprocessors are
// as many and as fast: memory and clock differ, which the transfer's wider interval covers.  Else,
// with a type of relatives, that of the machine whose multiprocessors multiply the most alike in a
// clock; its interval is a transfer's to another architecture.  "": none.
[[nodiscard]] std::string shipped_set_for(std::string_view model, const ParameterKey& key,
                                          const read::Machine& machine);

// `name` is a shipped set's or a file.  Throws read::InputError.
[[nodiscard]] read::Parameters choose_parameters(const std::filesystem::path& name,
                                                 std::string_view model);

}  // namespace inline_prof::model
