#include "cli/prof_analyze/analysis_arguments.hpp"

#include "cli/common/options.hpp"
#include "cli/common/program.hpp"
#include "model/machines.hpp"
#include "read/layers.hpp"
#include "read/parameters.hpp"
#include "read/read_profile.hpp"
#include "read/text_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

namespace inline_prof::cli {

void declare_phase(Command& command, std::optional<std::size_t>& phase) {
  command
      .add_option("--phase", phase,
                  "Phase of a run that has several, by its number in the report; default: the one "
                  "that took most of the time")
      .check(between(std::size_t{1}, std::size_t{1000}));
}

RunFiles::RunFiles(std::vector<std::filesystem::path> paths, read::Wanted wanted,
                   read::PhaseChoice phase, bool leave_out_unreadable)
    : paths_(std::move(paths)), wanted_(wanted), phase_(std::move(phase)) {
  const auto read = [&] { return read::read_profile(paths_[first_], wanted_, phase_); };
  if (!leave_out_unreadable || paths_.size() == 1) {
    first_profile_ = read();
  } else {
    while (!first_profile_ && first_ < paths_.size()) {
      first_profile_ = join::or_complaint(read).value;
      if (!first_profile_) ++first_;
    }
  }
  if (!first_profile_) return;  // load() says what is wrong with each
  launched_ = read::launched_in(*first_profile_, first_profile_->phase);
  phase_ = {.like = launched_};
}

read::Profile RunFiles::load(std::size_t i) {
  if (first_profile_ && i == first_) return std::move(*first_profile_);
  return read::read_profile(paths_[i], wanted_, phase_);
}

namespace {

join::BiasSetting parse_event_bias(const std::string& text) {
  if (text == "auto") return {};
  if (text == "chain") return {.kind = join::BiasSetting::Kind::kChain, .given_us = 0.0};
  if (text == "off") return {.kind = join::BiasSetting::Kind::kOff, .given_us = 0.0};
  const auto given_us = read::number_of(text);
  if (!given_us || *given_us < 0)
    throw UsageError(fmt::format(
        "--event-bias: expected auto, chain, off or a number of microseconds >= 0, found {}",
        text));
  return {.kind = join::BiasSetting::Kind::kGiven, .given_us = *given_us};
}

bool names_model(const std::string& params) {
  return params.find('=') != std::string::npos;
}

std::shared_ptr<model::EachModel> each_model(const AnalysisArguments& arguments,
                                             model::Models models) {
  std::vector<std::string> of_models;
  std::ranges::copy_if(arguments.params, std::back_inserter(of_models), names_model);
  if (models != model::Models::kPublished && models != model::Models::kAll) {
    if (of_models.empty() && arguments.settings.empty()) return nullptr;
    throw UsageError("--params MODEL=FILE and --set need --models published or all");
  }
  return asked("", [&] {
    return std::make_shared<model::EachModel>(
        model::ModelChoices{.params = parse_settings(of_models, "--params"),
                            .settings = parse_settings(arguments.settings, "--set"),
                            .vendors_model = arguments.vendors_model});
  });
}

std::shared_ptr<const model::OwnFamilies> own_families(const std::vector<std::string>& params) {
  auto families = std::make_shared<model::OwnFamilies>();
  for (const std::string& file : params) {
    if (names_model(file)) continue;
    const read::Parameters parameters = read::read_parameters(file, "families");
    const read::Machine machine = parse_machine(parameters.machine).value();
    if (!families->emplace(machine.id, model::Families(parameters, machine)).second)
      throw UsageError(fmt::format("--params {}: a second file for {}", file, machine.id));
  }
  return families->empty() ? nullptr : families;
}

}  // namespace

void declare_analysis(Command& command, AnalysisArguments& arguments) {
  const NamedValues<model::Models> models{{"calibrated", model::Models::kCalibrated},
                                          {"roofline", model::Models::kRoofline},
                                          {"published", model::Models::kPublished},
                                          {"all", model::Models::kAll}};
  command.add_option("--machine", arguments.machine,
                     "Machine to predict for, an id or a file; default: what the file says it ran "
                     "on");
  command.add_option(
      "--layers", arguments.layers,
      "File that says what events compute, for those whose shapes were not captured");
  command.add_option("--isolated", arguments.isolated,
                     "Table of prof-model measure --from: the same operations alone on the GPU");
  command
      .add_option(
          "--event-bias", arguments.event_bias,
          "What an event pair adds to a time: auto (from the file), chain (the file's pairs "
          "around chains of kernels), microseconds, or off")
      .shows_default();
  command.add_option("--models", arguments.models,
                     "Whose predictions: calibrated: fitted models where there are parameters, "
                     "else the roofline; roofline: the plain roofline for everything; published: "
                     "the published model of each kind, else the roofline; all: a table of all "
                     "models beside the calibrated ones",
                     models);
  command
      .add_option(
          "--params", arguments.params,
          "FILE of prof-model fit --model families, in place of what is shipped for its GPU; "
          "MODEL=FILE: parameters of a model for --models published and all, such as "
          "fc=products.csv")
      .takes_one_value();
  command
      .add_option("--set", arguments.settings,
                  "NAME=VALUE or MODEL.NAME=VALUE: a setting of such a model, or a column that "
                  "operations do not say, such as peak_l2_bw_gbps=2847")
      .takes_one_value();
  declare_phase(command, arguments.phase);
}

AnalysisResult analyse(const std::vector<std::string>& files, const AnalysisArguments& arguments) {
  join::JoinOptions options;
  options.event_bias = parse_event_bias(arguments.event_bias);
  options.models = arguments.vendors_model.empty() ? arguments.models : model::Models::kAll;
  options.each_model = each_model(arguments, options.models);
  options.keep_samples = arguments.keep_samples;
  options.leave_out_unreadable = arguments.leave_out_unreadable;
  Progress progress("reading");
  options.on_joined = [&progress](std::size_t done, std::size_t all) {
    progress.say(fmt::format("{} of {} files", done, all));
  };
  AnalysisResult result;
  result.machines = model::builtin_machines();
  options.machine = parse_machine(arguments.machine);
  options.families = own_families(arguments.params);
  if (!arguments.layers.empty())
    options.layers = read::read_layers(std::filesystem::path(arguments.layers));
  if (!arguments.isolated.empty()) options.isolated = read::read_isolated(arguments.isolated);
  RunFiles run(read::expand_inputs(files), read::Wanted::kAll,
               {.number = arguments.phase, .like = arguments.like}, options.leave_out_unreadable);
  result.launched = run.launched();
  result.analysis = join::join_files(
      run.count(), [&](std::size_t i) { return run.load(i); }, result.machines, options);
  if (options.machine) result.machines.insert(result.machines.begin(), *options.machine);
  return result;
}

namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread
  return value == nullptr ? std::string_view() : std::string_view(value);
}

std::size_t columns_there() {
  winsize size = {};
  if (isatty(STDOUT_FILENO) != 1 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

}  // namespace

std::size_t terminal_width() {
  std::size_t width = read::number_of<std::size_t>(variable("COLUMNS")).value_or(0);
  if (width == 0) width = columns_there();
  if (width == 0) return 80;
  return std::clamp<std::size_t>(width, 40, 1000);
}

bool wants_colour(const std::string& output) {
  return output == "-" && isatty(STDOUT_FILENO) == 1 && variable("NO_COLOR").empty() &&
         variable("TERM") != "dumb";
}

}  // namespace inline_prof::cli
