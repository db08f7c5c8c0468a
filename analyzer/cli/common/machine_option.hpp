// --machine, as every program has it.
#pragma once

#include "read/machine.hpp"

#include <optional>
#include <string>

namespace inline_prof::cli {

// The machine of --machine; empty for "".  Throws UsageError, read::InputError.
[[nodiscard]] std::optional<read::Machine> parse_machine(const std::string& name);

}  // namespace inline_prof::cli
