// prof-model convert: measurements of others as the tables that models are fitted to.
#include "base/command_line.hpp"
#include "cli/common/options.hpp"
#include "cli/common/result_file.hpp"
#include "cli/prof_model/commands.hpp"
#include "cli/prof_model/model_choice.hpp"
#include "read/measurements/measurements.hpp"

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace inline_prof::cli {
namespace {

struct ConvertOptions {
  std::string kind;
  std::vector<std::string> settings;
  std::vector<std::string> files;
  std::string output = "-";
  bool force = false;
};

void run_convert(const ConvertOptions& options) {
  const auto settings = parse_settings(options.settings);
  std::vector<read::Measurements> parts;
  for (const std::string& file : options.files) {
    parts.push_back(
        asked("--set ", [&] { return read::convert_measurements(file, options.kind, settings); }));
    for (const std::string& note : parts.back().notes) {
      std::fprintf(stderr, "%s\n", note.c_str());
    }
    std::fprintf(stderr, "%s: %zu rows\n", file.c_str(), parts.back().rows.size());
  }
  write_result(options.output, read::csv_text(read::joined(std::move(parts))), options.force);
}

}  // namespace

void declare_convert(Command& command, int& /*status*/) {
  const auto options = std::make_shared<ConvertOptions>();
  command.footer("What each kind can be made from, with the columns that tell a table:\n" +
                 read::sources_text());
  command.add_option("--to", options->kind, "Kind of table to make")
      .required()
      .check(one_of(read::table_kinds()));
  command
      .add_option("--set", options->settings,
                  "NAME=VALUE: what the files do not say: op, num_gpus, type; or place=in, the "
                  "in-place half of nccl-tests")
      .takes_one_value();
  command.add_option("FILE", options->files, "Logs and tables; their rows are put together")
      .required();
  command.add_output(options->output, options->force);
  command.on_run([options] { run_convert(*options); });
}

}  // namespace inline_prof::cli
