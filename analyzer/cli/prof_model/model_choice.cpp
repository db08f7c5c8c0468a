#include "cli/prof_model/model_choice.hpp"

#include "cli/common/options.hpp"
#include "cli/prof_model/measured_run.hpp"
#include "model/shipped_parameters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace inline_prof::cli {
namespace {

using model::ModelEntry;
using model::Need;

model::Edition chosen_edition(const ModelEntry& entry, std::optional<model::Edition> asked) {
  if (!asked) return entry.editions.front();
  if (std::ranges::find(entry.editions, *asked) == entry.editions.end()) {
    throw UsageError(fmt::format("--edition {}: {} has only {}", model::edition_name(*asked),
                                 entry.name, model::edition_name(entry.editions.front())));
  }
  return *asked;
}

void check_needs(const ModelEntry& entry, const ModelArguments& arguments) {
  if (entry.machine == Need::kNone && !arguments.machine.empty()) {
    throw UsageError(fmt::format(
        "--machine: columns of the table are the machine of {}; prof-model list {} names them",
        entry.name, entry.name));
  }
  if (entry.machine == Need::kRequired && arguments.machine.empty()) {
    throw UsageError(fmt::format("{} needs --machine", entry.name));
  }
  if (entry.params == Need::kNone && !arguments.params.empty()) {
    throw UsageError(fmt::format("--params: {} has no parameters", entry.name));
  }
  if (!entry.has_constant_sets && arguments.constants) {
    throw UsageError(fmt::format("--constants: {} has one set of constants", entry.name));
  }
}

// Returns the value of --params, else the shipped set of the machine if it has just one; empty if
// the model can do without.
std::string chosen_params(const ModelEntry& entry, const ModelArguments& arguments,
                          const model::ModelOptions& options) {
  if (!arguments.params.empty()) return arguments.params;
  const bool is_wanted =
      entry.params == Need::kRequired ||
      (entry.params == Need::kOptional && options.edition == model::Edition::kCalibrated);
  if (!is_wanted) return "";
  if (options.machine) {
    const std::vector<std::string> own = model::shipped_sets(entry.name, options.machine->id);
    if (own.size() == 1) {
      std::fprintf(stderr, "prof-model: --params %s: the shipped set of this machine\n",
                   own.front().c_str());
      return own.front();
    }
    if (!own.empty()) {
      throw UsageError(
          fmt::format("{} needs --params: a file, or one of the shipped sets of {}: {}", entry.name,
                      options.machine->id, fmt::join(own, ", ")));
    }
  }
  const std::vector<std::string> all = model::shipped_sets(entry.name, "");
  const std::string shipped =
      all.empty() ? "" : fmt::format("; shipped are {}", fmt::join(all, ", "));
  throw UsageError(
      fmt::format("{} needs --params: {}{}", entry.name, entry.params_meaning, shipped));
}

// Moves the settings that are the model's own into `options`.  The others are columns.
void take_settings(const ModelEntry& entry, std::map<std::string, std::string>& settings,
                   model::ModelOptions& options) {
  for (const model::Setting& own : entry.settings) {
    auto node = settings.extract(std::string(own.name));
    if (!node.empty()) options.settings.insert(std::move(node));
  }
}

void check_columns(const ChosenModel& chosen) {
  for (const auto& [name, value] : chosen.constants) {
    const auto inputs = chosen.model.inputs;
    if (std::ranges::any_of(
            inputs, [&name = name](const model::Column& column) { return column.name == name; })) {
      continue;
    }
    throw UsageError(fmt::format("--set {}: {} has neither such a setting nor such a column", name,
                                 chosen.entry->name));
  }
}

}  // namespace

const NamedValues<model::Edition>& editions() {
  static const NamedValues<model::Edition> names{{"published", model::Edition::kPublished},
                                                 {"calibrated", model::Edition::kCalibrated}};
  return names;
}

void declare_model(Command& command, ModelArguments& arguments) {
  command.add_option("--model", arguments.model, "Model to use; prof-model list names them")
      .required();
  command.add_option("--machine", arguments.machine, "Machine to predict for, an id or a file");
  command.add_option("--edition", arguments.edition,
                     "published: what the published model gives, to the digit; calibrated: ours",
                     editions());
  command.add_option("--params", arguments.params,
                     "Parameters of the model: a file, or the name of a shipped set; default: the "
                     "shipped set of --machine, where there is one");
  const NamedValues<model::ConstantSet> sets{{"original", model::ConstantSet::kOriginal},
                                             {"main", model::ConstantSet::kMain}};
  command.add_option("--constants", arguments.constants, "Edition of a published model's constants",
                     sets);
  command
      .add_option("--set", arguments.settings,
                  "NAME=VALUE: a setting of the model, or a column that the table does not have")
      .takes_one_value();  // else it takes the table behind it
}

ChosenModel choose_model(const ModelArguments& arguments, const read::Table& table) {
  ChosenModel chosen;
  chosen.entry = asked("--model: ", [&] { return &model::find_model(arguments.model); });
  check_needs(*chosen.entry, arguments);

  model::ModelOptions options;
  options.edition = chosen_edition(*chosen.entry, arguments.edition);
  options.constants = arguments.constants.value_or(model::ConstantSet::kOriginal);
  options.input_name = table.label();
  options.machine = chosen.machine = parse_machine(arguments.machine);
  options.params = chosen_params(*chosen.entry, arguments, options);
  chosen.constants = parse_settings(arguments.settings);
  take_settings(*chosen.entry, chosen.constants, options);
  chosen.model =
      asked(fmt::format("{}: ", chosen.entry->name), [&] { return chosen.entry->make(options); });
  check_columns(chosen);
  chosen.options = std::move(options);
  if (chosen.machine) model::check_same_machine(table, *chosen.machine);
  for (const std::string& warning : chosen.model.warnings) {
    std::fprintf(stderr, "prof-model: warning: %s\n", warning.c_str());
  }
  return chosen;
}

read::Table read_measured(const ModelArguments& arguments, const std::string& file) {
  const auto entries = model::all_models();
  const auto found = std::ranges::find(entries, arguments.model, &ModelEntry::name);
  return read_measured(file, found == entries.end() ? nullptr : &*found,
                       parse_machine(arguments.machine));
}

model::RowReader row_reader(const ChosenModel& chosen, const read::Table& table) {
  return asked("--set: ",
               [&] { return model::RowReader(table, chosen.model.inputs, chosen.constants); });
}

void warn_of_repeated_rows(const read::Table& table) {
  const std::string repeated = model::repeated_rows(table);
  if (!repeated.empty()) std::fprintf(stderr, "prof-model: warning: %s\n", repeated.c_str());
}

}  // namespace inline_prof::cli
