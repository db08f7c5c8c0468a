// prof-model fit: measured tables in, a parameter file out.
#include "base/command_line.hpp"
#include "cli/common/options.hpp"
#include "cli/common/program.hpp"
#include "cli/common/result_file.hpp"
#include "cli/prof_model/commands.hpp"
#include "cli/prof_model/measured_run.hpp"
#include "cli/prof_model/model_choice.hpp"
#include "fit/fits.hpp"
#include "join/join.hpp"
#include "model/families/families.hpp"
#include "model/machines.hpp"
#include "model/predictor.hpp"
#include "model/row_reader.hpp"
#include "model/shipped_parameters.hpp"
#include "read/machine.hpp"
#include "read/parameters.hpp"
#include "read/read_profile.hpp"
#include "report/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace inline_prof::cli {
namespace {

// prof-model fit --model families: kernel families fitted to a user's own traces and profiles.

// Different launches that are too few to tell three parameters.
constexpr std::size_t kThin = 3;
// The largest part of a time that neighbours may have added: how much it was is not known that
// well.
constexpr double kMostDelay = 0.3;

read::Machine machine_of(const join::Analysis& analysis,
                         const std::vector<read::Machine>& machines) {
  if (analysis.machine.empty()) {
    throw read::InputError(fmt::format("{}; --machine names the GPU", analysis.machine_reason));
  }
  if (analysis.machine.find(',') != std::string::npos) {
    throw UsageError(
        fmt::format("--model families: expected files of one GPU, found {}", analysis.machine));
  }
  return model::choose_machine(analysis.machine, machines);
}

// Equal launches of the same kernel as one row.
std::vector<model::FamilyRow> family_rows(const join::Analysis& analysis,
                                          const read::Machine& machine) {
  struct Launches {
    model::FamilyRow row;
    double count = 0;
  };
  const model::Predictor predictor(model::Models::kCalibrated);
  std::map<std::string, Launches> launches;
  std::size_t next = 0, trace = 0;
  for (const join::Run& run : analysis.runs) {
    ++trace;
    for (const read::Event& event : run.profile.events) {
      const join::Row& row = analysis.rows[next++];
      const model::KernelFamily* const family = model::kernel_family(row.kernel_name.str());
      if (family == nullptr || !event.op || !row.corrected_us || row.is_region ||
          row.is_upper_bound() || *row.corrected_us <= 0) {
        continue;
      }
      const double delay_us = model::usual_delay_us(event.neighbours);
      if (delay_us > kMostDelay * *row.corrected_us) continue;
      const double blocks = join::blocks_of(event);
      const auto base = predictor.predict(*event.op, machine, {"", 0}).prediction;
      const auto work = model::family_work(row.kernel_name.str(), *event.op, machine, blocks, base);
      if (!work) continue;
      Launches& equal =
          launches[fmt::format("{} {} {} {}", trace, event.name, read::op_text(*event.op), blocks)];
      equal.row.trace = trace;
      equal.row.family = model::family_of_parameters(*family, *event.op);
      equal.row.work = *work;
      equal.row.measured_us += *row.corrected_us - delay_us;
      equal.count += 1;
    }
  }
  std::vector<model::FamilyRow> rows;
  for (auto& [name, equal] : launches) {
    equal.row.measured_us /= equal.count;
    equal.row.weight = std::sqrt(equal.count);
    rows.push_back(equal.row);
  }
  return rows;
}

// Returns what the fit starts from: as those parameters count for this GPU.
model::FamilyMap start_of(const read::Machine& gpu, const std::string& prior) {
  model::FamilyMap start = model::usual_family_parameters();
  if (prior == "usual") return start;
  const read::Parameters known =
      prior.empty() ? model::shipped_families(gpu) : model::choose_parameters(prior, "families");
  const model::Families families(known, gpu);
  for (auto& [family, parameters] : start) {
    parameters = *families.parameters_of(family);
    if (known.machine != gpu.id) parameters.rows = 0;  // no measurement of this GPU
  }
  return start;
}

double mean_error_percent(const std::vector<model::FamilyRow>& rows,
                          const model::FamilyMap& families, const read::Machine& machine) {
  double sum = 0;
  for (const model::FamilyRow& row : rows) {
    const auto& parameters = families.at(row.family);
    sum += std::abs(model::family_time_us(row.work, parameters, machine) / row.measured_us - 1);
  }
  return 100 * sum / static_cast<double>(rows.size());
}

// `files` are traces, profiles and folders of them.  Families with few different launches keep what
// is shipped for the GPU, which is the one that the files name if none is given.  `prior` names the
// parameters to start from instead, a file, a shipped set or "usual".  The same files always give
// the same parameters.  Throws read::InputError and UsageError.
fit::FitResult fit_families_to(const std::vector<std::string>& files,
                               const std::optional<read::Machine>& machine,
                               const std::string& prior) {
  std::vector<read::Profile> profiles;
  for (const std::filesystem::path& file : read::expand_inputs(files))
    profiles.push_back(read::read_profile(file));
  const std::vector<read::Machine> machines = model::builtin_machines();
  join::JoinOptions options;
  options.machine = machine;
  options.keep_events = true;
  const join::Analysis analysis = join::join_profiles(std::move(profiles), machines, options);
  const read::Machine gpu = machine ? *machine : machine_of(analysis, machines);

  std::map<std::string, std::vector<model::FamilyRow>> by_family;
  const model::FamilyMap before = start_of(gpu, prior);
  for (model::FamilyRow& row : family_rows(analysis, gpu))
    if (before.contains(row.family)) by_family[row.family].push_back(std::move(row));
  // With a prior of its own a fit says all that it learns: the prior holds what is thin.
  const std::size_t least = prior.empty() ? kThin : 1;
  std::vector<model::FamilyRow> rows;
  for (const auto& [family, own] : by_family)
    if (own.size() >= least) rows.insert(rows.end(), own.begin(), own.end());
  if (rows.empty()) {
    const auto upper_bounds = std::ranges::count_if(analysis.rows, &join::Row::is_upper_bound);
    throw read::InputError(fmt::format(
        "no family has three different launches with a known operation{}: expected a trace with "
        "record_shapes=True, or a prof.json with operations",
        upper_bounds == 0 ? ""
                          : fmt::format(", but for {} whose times are upper bounds, since the GPU "
                                        "waited for the program",
                                        upper_bounds)));
  }
  const model::FamilyMap fitted = model::fit_families(rows, before, gpu);

  fit::FitResult result;
  const std::string_view doubt = report::simulated_words(analysis);
  if (!doubt.empty()) result.summary = fmt::format("{}So are these parameters.\n", doubt);
  result.file_text = read::parameters_text(model::parameters_of_families(fitted, gpu.id));
  for (const auto& [family, own] : by_family) {
    const double error = mean_error_percent(own, before, gpu);
    result.summary +=
        own.size() < least
            ? fmt::format("{:<20} {:>4} different  error {:5.1f} %, kept as shipped\n", family,
                          own.size(), error)
            : fmt::format("{:<20} {:>4} different  error {:5.1f} %, was {:5.1f} %\n", family,
                          own.size(), mean_error_percent(own, fitted, gpu), error);
  }
  return result;
}

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
