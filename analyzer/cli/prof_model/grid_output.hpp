// The options of subcommands that print a table of results.
#pragma once

#include "report/grid.hpp"

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}

namespace inline_prof::cli {

struct GridOutput {
  report::GridFormat format = report::GridFormat::kTable;
  std::string file = "-";
  bool force = false;
};

void declare_grid_output(CLI::App& command, GridOutput& output);

// Throws OutputError.
void write_grid(const report::Grid& grid, const GridOutput& output);

}  // namespace inline_prof::cli
