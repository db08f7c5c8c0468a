// The options by which prof-model's subcommands choose a model.
#pragma once

#include "base/command_line.hpp"
#include "model/registry.hpp"
#include "model/row_reader.hpp"
#include "read/table.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::cli {

// Returns the names that --edition takes.
[[nodiscard]] const NamedValues<model::Edition>& editions();

// The options as given.
struct ModelArguments {
  std::string model;
  std::string machine;  // empty: none
  std::optional<model::Edition> edition;
  std::string params;  // empty: none
  std::optional<model::ConstantSet> constants;
  std::vector<std::string> settings;  // NAME=VALUE
};

void declare_model(Command& command, ModelArguments& arguments);

// A model, ready to predict the rows of one table.
struct ChosenModel {
  const model::ModelEntry* entry = nullptr;
  model::ModelOptions options;
  model::Model model;
  std::optional<read::Machine> machine;
  std::map<std::string, std::string> constants;  // columns that --set gives, by name
};

// Throws UsageError, read::InputError.  Warnings of the model about its parameters go to standard
// error.
[[nodiscard]] ChosenModel choose_model(const ModelArguments& arguments, const read::Table& table);

// Reads a table, or a run's measured rows in the chosen model's columns.  Throws read::InputError.
[[nodiscard]] read::Table read_measured(const ModelArguments& arguments, const std::string& file);

// Reads the rows that the model is to predict.  Throws UsageError, read::InputError.
[[nodiscard]] model::RowReader row_reader(const ChosenModel& chosen, const read::Table& table);

// Warns of rows that would count twice, where rows are counted.
void warn_of_repeated_rows(const read::Table& table);

}  // namespace inline_prof::cli
