// prof-analyze ranks DIR: which of many ranks are late, and what collectives wait for.
#include "join/ranks/ranks.hpp"

#include "base/command_line.hpp"
#include "base/two_threads.hpp"
#include "cli/common/options.hpp"
#include "cli/common/program.hpp"
#include "cli/common/result_file.hpp"
#include "cli/prof_analyze/analysis_arguments.hpp"
#include "cli/prof_analyze/commands.hpp"
#include "export/formats.hpp"
#include "join/join.hpp"
#include "join/predict/predicted_file.hpp"
#include "join/ranks/scaling.hpp"
#include "model/machines.hpp"
#include "model/units.hpp"
#include "read/input_error.hpp"
#include "read/read_profile.hpp"
#include "report/tables.hpp"
#include "report/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace inline_prof::cli {
namespace {

struct RanksOptions {
  std::vector<std::string> files;
  std::string machine;               // empty: each device says what it is
  std::string layout;                // empty: not known
  std::optional<std::size_t> phase;  // from 1
  join::RankOptions ranks;
  double least_percent = 5.0;
  bool as_json = false;
  std::string output = "-";
  bool force = false;
  std::size_t top = 20;
};

struct ReadRanks {
  std::vector<join::RankSummary> summaries;
  std::vector<std::string> complaints;  // about files that were left out
};

// Predicts by the model that prof-analyze uses for the same operation, on `chosen` or the device's
// own machine.
join::PredictOperation predict_by(const std::optional<read::Machine>& chosen,
                                  const std::vector<read::Machine>& known) {
  return [&](const read::Op& op, const read::Device* device) -> std::optional<double> {
    const read::Machine* machine = chosen ? &*chosen : nullptr;
    if (machine == nullptr && device != nullptr)
      machine = model::match_machine(*device, known).machine;
    if (machine == nullptr) return std::nullopt;
    const auto prediction =
        join::predictor_of_this_thread(model::Models::kCalibrated).predict(op, *machine).prediction;
    if (!prediction || !(prediction->time.value > 0)) return std::nullopt;
    return model::in_microseconds(prediction->time);
  };
}

ReadRanks read_ranks(RunFiles& files, const join::PredictOperation& predict) {
  ReadRanks ranks;
  Progress progress("reading");
  base::in_two_threads(
      files.count(),
      [&](std::size_t i) {
        return join::or_complaint([&] { return join::summarise_rank(files.load(i), predict); });
      },
      [&](std::size_t i, join::Readable<join::RankSummary> rank) {
        progress.say(fmt::format("{} of {} files", i + 1, files.count()));
        if (rank.value) {
          ranks.summaries.push_back(std::move(*rank.value));
        } else {
          ranks.complaints.push_back(rank.complaint);
        }
      });
  if (ranks.summaries.empty() && !ranks.complaints.empty())
    throw read::InputError(ranks.complaints.front());
  return ranks;
}

void run_ranks(RanksOptions& options) {
  options.ranks.least_ratio = 1.0 + options.least_percent / 100.0;
  if (!options.layout.empty()) {
    options.ranks.layout =
        asked("--layout: ", [&] { return join::parse_rank_layout(options.layout); });
  }
  const std::optional<read::Machine> chosen = parse_machine(options.machine);
  const std::vector<read::Machine> known = model::builtin_machines();
  RunFiles files(read::expand_inputs(options.files), read::Wanted::kWithoutOffsets,
                 {.number = options.phase}, true);
  ReadRanks ranks = read_ranks(files, predict_by(chosen, known));
  join::RankComparison comparison;
  try {
    comparison = join::compare_ranks(std::move(ranks.summaries), options.ranks);
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(error.what());
  }
  for (const std::string& complaint : ranks.complaints)
    comparison.warnings.push_back("left out: " + complaint);
  write_result(options.output,
               options.as_json ? exports::ranks_json(comparison)
                               : report::ranks_table(
                                     comparison, {.top = options.top, .width = terminal_width()}),
               options.force);
}

}  // namespace

void declare_ranks(Command& command, int& /*status*/) {
  const auto options = std::make_shared<RanksOptions>();
  command.add_option("FILE", options->files, "prof.json files, one for each rank, or their folder")
      .required();
  command.add_option("--machine", options->machine,
                     "GPU of all files, for the prediction of collectives: an id of prof-model "
                     "list --machines or a machine file; default: what each file says");
  command.add_option("--layout", options->layout,
                     "How ranks are numbered, the axis that varies fastest first: tp=8,pp=4,dp=2");
  declare_phase(command, options->phase);
  command
      .add_option("--least", options->least_percent,
                  "Percent by which a device must be slower to be named, at least")
      .check(between(0.0, 1000.0))
      .shows_default();
  const NamedValues<bool> formats{{"table", false}, {"json", true}};
  command.add_option("--format", options->as_json, "What to print", formats);
  command.add_output(options->output, options->force);
  command.add_option("--top", options->top, "Print only this many of each list of the table")
      .check(between(std::size_t{1}, std::size_t{1000000}))
      .shows_default();
  command.on_run([options] { run_ranks(*options); });
}

// prof-analyze scaling RUN...: runs on more and more GPUs beside each other.

namespace {

struct ScalingOptions {
  std::vector<std::string> runs;
  AnalysisArguments analysis;
  GridOutput output;
  std::size_t most_layers = 9;
};

// Columns run, gpus, layer ("" for the iteration), mean_us, slowest_us.
report::Grid scaling_grid(const std::vector<join::ScalingPoint>& points, std::size_t most_layers) {
  report::Grid grid{{"run", "gpus", "layer", "mean_us", "slowest_us"}, {}};
  if (std::ranges::any_of(points, &join::ScalingPoint::is_simulated))
    grid.note = report::kSimulatedWords;
  for (const join::ScalingTime& time : join::scaling_times(points, most_layers))
    grid.rows.push_back({time.point->run, static_cast<double>(time.point->gpus),
                         time.layer.value_or(""), time.times.mean_us, time.times.slowest_us});
  return grid;
}

void show_scaling(const ScalingOptions& options) {
  std::vector<join::ScalingPoint> points;
  for (const std::string& run : options.runs)
    points.push_back(join::scaling_point(run, analyse({run}, options.analysis).analysis));
  if (options.output.format == report::GridFormat::kJson)
    return write_result(options.output.file, exports::scaling_json(points, options.most_layers),
                        options.output.force);
  write_grid(scaling_grid(points, options.most_layers), options.output);
}

}  // namespace

void declare_scaling(Command& command, int& /*status*/) {
  const auto options = std::make_shared<ScalingOptions>();
  command
      .add_option("RUN", options->runs,
                  "A prof.json file or folder for each run, such as a folder for each number of "
                  "GPUs")
      .required();
  declare_analysis(command, options->analysis);
  declare_grid_output(command, options->output);
  command.add_option("--top", options->most_layers, "Show only this many layers, the largest")
      .check(between(std::size_t{1}, std::size_t{1000}))
      .shows_default();
  command.on_run([options] { show_scaling(*options); });
}

}  // namespace inline_prof::cli
