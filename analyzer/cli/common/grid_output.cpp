#include "cli/common/grid_output.hpp"

#include "cli/common/result_file.hpp"

namespace inline_prof::cli {

const NamedValues<report::GridFormat>& grid_formats() {
  static const NamedValues<report::GridFormat> formats{{"table", report::GridFormat::kTable},
                                                       {"csv", report::GridFormat::kCsv},
                                                       {"md", report::GridFormat::kMarkdown},
                                                       {"json", report::GridFormat::kJson}};
  return formats;
}

void declare_grid_output(Command& command, GridOutput& output) {
  command.add_option("--format", output.format, "What to print", grid_formats());
  command.add_output(output.file, output.force);
}

void write_grid(const report::Grid& grid, const GridOutput& output) {
  write_result(output.file, report::grid_text(grid, output.format), output.force);
}

}  // namespace inline_prof::cli
