// The option --machine.
#pragma once

#include "read/machine.hpp"

#include <optional>
#include <string>

namespace inline_prof::cli {

// Returns the machine of --machine, nothing for "".  Throws UsageError, read::InputError.
[[nodiscard]] std::optional<read::Machine> parse_machine(const std::string& name);

}  // namespace inline_prof::cli
