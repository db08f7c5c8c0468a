// prof-model evaluate: how far a model is from measured times, by group.
#include "base/command_line.hpp"
#include "base/error_metrics.hpp"
#include "cli/common/options.hpp"
#include "cli/common/program.hpp"
#include "cli/prof_model/commands.hpp"
#include "cli/prof_model/measured_run.hpp"
#include "cli/prof_model/model_choice.hpp"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace inline_prof::cli {
namespace {

struct EvaluateOptions {
  ModelArguments model;
  std::vector<std::string> inputs;
  std::string measured = "time_us";
  std::string group = "group";
  GridOutput output;
};

struct Group {
  std::vector<base::Judged> rows;
  std::size_t unmeasured = 0;
  std::size_t unpredicted = 0;
};

// Returns nothing for a row without a measured time.
std::optional<double> measured_time(const read::Table& table, std::size_t row, std::size_t column) {
  const auto time = table.optional_number(row, column);
  if (time && !(*time > 0)) {
    table.fail(row, column, fmt::format("expected a time > 0, found {}", *time));
  }
  return time;
}

model::Part percent(const std::optional<double>& fraction) {
  return fraction ? model::Part(100 * *fraction) : model::Part();
}

std::vector<model::Part> grid_row(const std::string& name, const Group& group) {
  const auto summary = base::summarize(group.rows);
  const auto original = base::original_errors(group.rows);
  const auto value = [&](double base::ErrorSummary::*member) {
    return summary ? model::Part(100 * ((*summary).*member)) : model::Part();
  };
  using base::ErrorSummary;
  return {name,
          static_cast<double>(group.rows.size()),
          static_cast<double>(group.unmeasured),
          static_cast<double>(group.unpredicted),
          value(&ErrorSummary::mape),
          value(&ErrorSummary::median),
          value(&ErrorSummary::p90),
          value(&ErrorSummary::worst),
          value(&ErrorSummary::bias),
          value(&ErrorSummary::gmae),
          value(&ErrorSummary::within_10),
          summary ? percent(summary->coverage) : model::Part(),
          summary ? percent(summary->median_width) : model::Part(),
          original ? model::Part(100 * original->gmae) : model::Part(),
          original ? percent(original->std_absolute) : model::Part(),
          original ? percent(original->std_signed) : model::Part()};
}

void judge_usually(const EvaluateOptions& options, const read::Table& table,
                   const ChosenModel& chosen) {
  if (!is_run(table.label())) warn_of_repeated_rows(table);  // a run repeats its operations
  model::RowReader reader = row_reader(chosen, table);
  const std::size_t measured = table.require(options.measured);
  const auto group_column = table.find(options.group);

  Group all;
  std::map<std::string, Group> groups;
  Progress progress("rows predicted");
  for (std::size_t i = 0; i < table.row_count(); ++i) {
    const model::Row row = reader.read(i);
    const auto time = measured_time(table, i, measured);
    const model::RowPrediction prediction = chosen.model.predict(row);
    std::vector<Group*> both{&all};
    if (group_column) both.push_back(&groups[table.cell(i, *group_column)]);
    for (Group* group : both) {
      if (!time) {
        ++group->unmeasured;
      } else if (!prediction.time_us) {
        ++group->unpredicted;
      } else {
        group->rows.push_back(
            {*prediction.time_us, *time, prediction.lower_us, prediction.upper_us});
      }
    }
    progress.step(i + 1, table.row_count());
  }

  report::Grid grid{
      {"group", "n", "unmeasured", "unpredicted", "mape_percent", "median_percent", "p90_percent",
       "max_percent", "bias_percent", "gmae_percent", "within_10_percent", "coverage_percent",
       "half_width_percent", "original_gmae_percent", "original_std_abs_percent",
       "original_std_signed_percent"},
      {}};
  for (const auto& [name, group] : groups)
    grid.rows.push_back(grid_row(name, group));
  grid.rows.push_back(grid_row("all", all));
  write_grid(grid, options.output);
}

void run_evaluate(const EvaluateOptions& options) {
  std::vector<read::Table> tables;
  for (const std::string& file : options.inputs)
    tables.push_back(read_measured(options.model, file));
  const ChosenModel chosen = choose_model(options.model, tables.front());
  if (chosen.entry->judge != nullptr) {
    if (auto judgement = asked(fmt::format("{}: ", chosen.entry->name),
                               [&] { return chosen.entry->judge(chosen.options, tables); })) {
      return write_grid({std::move(judgement->columns), std::move(judgement->rows)},
                        options.output);
    }
  }
  if (tables.size() > 1)
    throw UsageError(fmt::format("evaluate takes one table for {}", chosen.entry->name));
  judge_usually(options, tables.front(), chosen);
}

}  // namespace

void declare_evaluate(Command& command, int& /*status*/) {
  const auto options = std::make_shared<EvaluateOptions>();
  declare_model(command, options->model);
  command.add_option("TABLE", options->inputs, "CSV file with the model's columns and a time")
      .required();
  command.add_option("--measured", options->measured, "Column of the measured time, microseconds")
      .shows_default();
  command
      .add_option("--group", options->group, "Column whose values are judged apart, if it is there")
      .shows_default();
  declare_grid_output(command, options->output);
  command.on_run([options] { run_evaluate(*options); });
}

}  // namespace inline_prof::cli
