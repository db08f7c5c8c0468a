// prof-model list: the models, the columns of one, or the machines.
#include "base/command_line.hpp"
#include "cli/common/options.hpp"
#include "cli/prof_model/commands.hpp"
#include "fit/fits.hpp"
#include "model/machines.hpp"
#include "model/registry.hpp"
#include "model/shipped_parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <string>

namespace inline_prof::cli {
namespace {

struct ListOptions {
  std::string model;
  bool machines = false;
  GridOutput output;
};

std::string need_word(model::Need need) {
  constexpr std::array words{"", "may", "must"};
  return words.at(static_cast<std::size_t>(need));
}

bool has_fit(std::string_view model) {
  const auto fits = fit::all_fits();
  return std::ranges::any_of(fits,
                             [&](const fit::FitEntry& entry) { return entry.model == model; });
}

report::Grid models() {
  report::Grid grid{{"model", "editions", "--machine", "--params", "fit", "summary"}, {}};
  for (const model::ModelEntry& entry : model::all_models()) {
    std::string editions;
    for (const model::Edition edition : entry.editions) {
      editions += fmt::format("{}{}", editions.empty() ? "" : " ", model::edition_name(edition));
    }
    grid.rows.push_back({std::string(entry.name), editions, need_word(entry.machine),
                         need_word(entry.params), std::string(has_fit(entry.name) ? "yes" : ""),
                         std::string(entry.summary)});
  }
  return grid;
}

std::string kind_word(model::ColumnKind kind) {
  constexpr std::array words{"integer", "number", "flag", "word"};
  return words.at(static_cast<std::size_t>(kind));
}

// Lists what one model reads: its columns and its settings.
report::Grid columns(const model::ModelEntry& entry) {
  report::Grid grid{{"name", "where", "kind", "unit", "from", "to", "needed", "meaning"}, {}};
  for (const model::Column& column : entry.inputs) {
    const bool has_range =
        column.kind == model::ColumnKind::kInteger || column.kind == model::ColumnKind::kNumber;
    const bool has_end = has_range && column.most < std::numeric_limits<double>::max();
    grid.rows.push_back(
        {std::string(column.name), "column", kind_word(column.kind), std::string(column.unit),
         has_range ? model::Part(column.least) : model::Part(),
         has_end ? model::Part(column.most) : model::Part(),
         std::string(column.is_required ? "yes" : ""), std::string(column.meaning)});
  }
  if (entry.params != model::Need::kNone) {
    grid.rows.push_back({"--params",
                         "option",
                         "file",
                         "",
                         {},
                         {},
                         std::string(entry.params == model::Need::kRequired ? "yes" : ""),
                         std::string(entry.params_meaning)});
  }
  for (const model::Setting& setting : entry.settings) {
    const std::string otherwise =
        setting.otherwise.empty() ? "" : fmt::format(" (default {})", setting.otherwise);
    grid.rows.push_back({std::string(setting.name),
                         "--set",
                         "word",
                         "",
                         {},
                         {},
                         "",
                         std::string(setting.meaning) + otherwise});
  }
  return grid;
}

// Lists the ids that --machine takes, and for which models there are parameters.
report::Grid machines() {
  report::Grid grid{
      {"machine", "device", "sm_count", "memory_gib", "memory_gb_per_s", "parameters"}, {}};
  for (const read::Machine& machine : model::builtin_machines()) {
    std::string sets;
    for (const model::ModelEntry& entry : model::all_models()) {
      for (const std::string& set : model::shipped_sets(entry.name, machine.id))
        sets += fmt::format("{}{}", sets.empty() ? "" : " ", set);
    }
    grid.rows.push_back({machine.id, machine.names.empty() ? "" : machine.names.front(),
                         static_cast<double>(machine.sm_count),
                         machine.memory_gib ? model::Part(*machine.memory_gib) : model::Part(),
                         machine.memory_gb_per_s, sets});
  }
  return grid;
}

void run_list(const ListOptions& options) {
  if (options.machines) {
    if (!options.model.empty()) {
      throw UsageError(
          fmt::format("--machines: expected no model beside it, found {}", options.model));
    }
    return write_grid(machines(), options.output);
  }
  if (options.model.empty()) return write_grid(models(), options.output);
  asked("", [&] { write_grid(columns(model::find_model(options.model)), options.output); });
}

}  // namespace

void declare_list(Command& command, int& /*status*/) {
  const auto options = std::make_shared<ListOptions>();
  command.add_option("MODEL", options->model, "Show the columns of this model");
  command.add_flag("--machines", options->machines,
                   "Show the GPUs that --machine takes, and their shipped parameters");
  declare_grid_output(command, options->output);
  command.on_run([options] { run_list(*options); });
}

}  // namespace inline_prof::cli
