#include "cli/prof_model/grid_output.hpp"

#include "cli/common/option_values.hpp"
#include "cli/common/result_file.hpp"

#include <CLI/CLI.hpp>

namespace inline_prof::cli {

void declare_grid_output(CLI::App& command, GridOutput& output) {
  const NamedValues<report::GridFormat> formats{{"table", report::GridFormat::kTable},
                                                {"csv", report::GridFormat::kCsv},
                                                {"md", report::GridFormat::kMarkdown},
                                                {"json", report::GridFormat::kJson}};
  take_name(command.add_option("--format", output.format, "What to print"), formats)
      ->default_str("table");
  command.add_option("-o,--output", output.file, "File to write; - is standard output")
      ->capture_default_str();
  command.add_flag("--force", output.force, "Replace the output file if it exists");
}

void write_grid(const report::Grid& grid, const GridOutput& output) {
  write_result(output.file, report::grid_text(grid, output.format), output.force);
}

}  // namespace inline_prof::cli
