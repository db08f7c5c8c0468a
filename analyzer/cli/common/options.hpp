// Options that several subcommands have.
#pragma once

#include "base/command_line.hpp"
#include "read/machine.hpp"
#include "report/text.hpp"

#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::cli {

// Returns what `call` does.  An std::invalid_argument is what the command line asked wrongly:
// `prefix` says by which option.
template <typename Call>
decltype(auto) asked(const std::string& prefix, Call&& call) {
  try {
    return call();
  } catch (const std::invalid_argument& error) {
    throw UsageError(prefix + error.what());
  }
}

// Returns the machine of --machine, nothing for "".  Throws UsageError, read::InputError.
[[nodiscard]] std::optional<read::Machine> parse_machine(const std::string& name);

// Returns the values of "NAME=VALUE" each, by name.  Throws UsageError that names `option`.
[[nodiscard]] std::map<std::string, std::string> parse_settings(
    const std::vector<std::string>& settings, std::string_view option = "--set");

// The output of subcommands that print a table of results.
struct GridOutput {
  report::GridFormat format = report::GridFormat::kTable;
  std::string file = "-";
  bool force = false;
};

// Returns the names that --format takes for a grid.
[[nodiscard]] const NamedValues<report::GridFormat>& grid_formats();

void declare_grid_output(Command& command, GridOutput& output);

// Throws OutputError.
void write_grid(const report::Grid& grid, const GridOutput& output);

}  // namespace inline_prof::cli
