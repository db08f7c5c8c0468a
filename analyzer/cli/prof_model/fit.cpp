// prof-model fit: measured tables in, a parameter file out.
#include "base/command_line.hpp"
#include "cli/common/options.hpp"
#include "cli/common/progress.hpp"
#include "cli/common/result_file.hpp"
#include "cli/prof_model/commands.hpp"
#include "cli/prof_model/fit_families.hpp"
#include "cli/prof_model/measured_run.hpp"
#include "cli/prof_model/model_choice.hpp"
#include "fit/fits.hpp"
#include "model/row_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace inline_prof::cli {
namespace {

struct FitOptions {
  std::string model;
  std::string machine;
  std::vector<std::string> settings;
  std::string boundary;
  std::string prior;
  std::optional<std::size_t> points;
  std::uint64_t seed = 1;
  std::vector<std::string> tables;
  std::string output = "-";
  bool force = false;
};

void run_fit(const FitOptions& options) {
  if (options.model == "families") {
    const fit::FitResult result =
        fit_families_to(options.tables, parse_machine(options.machine), options.prior);
    std::fputs(result.summary.c_str(), stderr);
    return write_result(options.output, result.file_text, options.force);
  }
  const fit::FitEntry& entry =
      asked("--model: ", [&]() -> const fit::FitEntry& { return fit::find_fit(options.model); });
  if (entry.needs_machine && options.machine.empty()) {
    throw UsageError(fmt::format("the fit of {} needs --machine", options.model));
  }
  Progress progress("fit");
  fit::FitRequest request{.machine = parse_machine(options.machine),
                          .settings = parse_settings(options.settings),
                          .boundary = options.boundary,
                          .prior = options.prior,
                          .points = options.points,
                          .seed = options.seed,
                          .tables = {},
                          .say = [&](std::string_view state) { progress.say(state); }};
  // Calibrated models' own fits take tables only; they have no columns for an operation.
  const auto entries = model::all_models();
  const auto found = std::ranges::find(entries, options.model, &model::ModelEntry::name);
  const model::ModelEntry* published = found == entries.end() ? nullptr : &*found;
  for (const std::string& file : options.tables) {
    request.tables.push_back(read_measured(file, published, request.machine));
    if (!is_run(file)) warn_of_repeated_rows(request.tables.back());
    if (request.machine) model::check_same_machine(request.tables.back(), *request.machine);
  }
  const fit::FitResult result = asked("", [&] { return entry.fit(request); });
  std::fputs(result.summary.c_str(), stderr);
  write_result(options.output, result.file_text, options.force);
}

}  // namespace

void declare_fit(Command& command, int& /*status*/) {
  const auto options = std::make_shared<FitOptions>();
  command
      .add_option("--model", options->model,
                  "Model to fit; families: kernels as they run in your own programs")
      .required();
  command.add_option("--machine", options->machine,
                     "Machine that the tables were measured on, an id or a file");
  command
      .add_option("--set", options->settings,
                  "NAME=VALUE: a setting of the fit, or a column that the tables do not have")
      .takes_one_value();  // else it takes the tables behind it
  command.add_option("--boundary", options->boundary, "What was timed, e.g. gemm or gemm+quantise");
  command.add_option("--prior", options->prior, "Parameters to start from");
  command.add_option("--points", options->points, "Use only so many rows, chosen by the seed")
      .check(positive_number());
  command.add_option("--seed", options->seed, "Seed of every choice").shows_default();
  command
      .add_option("TABLE", options->tables,
                  "CSV files with a column time_us; for "
                  "families traces of torch.profiler and prof.json files")
      .required();
  command.add_output(options->output, options->force);
  command.on_run([options] { run_fit(*options); });
}

}  // namespace inline_prof::cli
