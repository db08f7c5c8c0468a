#include "cli/common/machine_option.hpp"

#include "base/command_line.hpp"
#include "model/machines.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace inline_prof::cli {

std::optional<read::Machine> parse_machine(const std::string& name) {
  if (name.empty()) return std::nullopt;
  try {
    return model::choose_machine(name, model::builtin_machines());
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("--machine: {}", error.what()));
  }
}

}  // namespace inline_prof::cli
