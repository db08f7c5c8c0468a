#include "cli/common/options.hpp"

#include "cli/common/result_file.hpp"
#include "model/machines.hpp"

#include <fmt/format.h>

namespace inline_prof::cli {

std::optional<read::Machine> parse_machine(const std::string& name) {
  if (name.empty()) return std::nullopt;
  return asked("--machine: ",
               [&] { return model::choose_machine(name, model::builtin_machines()); });
}

std::map<std::string, std::string> parse_settings(const std::vector<std::string>& settings,
                                                  std::string_view option) {
  std::map<std::string, std::string> parsed;
  for (const std::string& text : settings) {
    const std::size_t place = text.find('=');
    if (place == std::string::npos || place == 0)
      throw UsageError(fmt::format("{}: expected NAME=VALUE, found {}", option, text));
    if (!parsed.emplace(text.substr(0, place), text.substr(place + 1)).second)
      throw UsageError(fmt::format("{}: {} twice", option, text.substr(0, place)));
  }
  return parsed;
}

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
