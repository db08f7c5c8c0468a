// prof-model predict: every column of the table untouched, and the prediction behind it.
#include "base/command_line.hpp"
#include "base/text.hpp"
#include "cli/common/program.hpp"
#include "cli/common/result_file.hpp"
#include "cli/prof_model/commands.hpp"
#include "cli/prof_model/model_choice.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

namespace inline_prof::cli {
namespace {

struct PredictOptions {
  ModelArguments model;
  std::string input;
  std::string output = "-";
  bool force = false;
  bool explain = false;
};

std::string header(const read::Table& table, const model::Model& model) {
  std::string text(table.header_text());
  text +=
      ",predicted_us,predicted_lower_us,predicted_upper_us,predicted_bound,predicted_error,"
      "predicted_reason";
  for (const auto part : model.parts)
    text += fmt::format(",predicted_{}", part);
  return text + "\n";
}

// Writes all digits of a double, because other programs go on calculating with them.
void add_number(std::string& text, const std::optional<double>& value) {
  text += ',';
  if (value) text += fmt::format("{}", *value);
}

void add_part(std::string& text, const model::Part& part) {
  text += ',';
  if (const auto* number = std::get_if<double>(&part)) {
    text += fmt::format("{}", *number);
  } else if (const auto* word = std::get_if<std::string>(&part)) {
    text += base::csv_cell(*word);
  }
}

void add_prediction(std::string& text, const model::RowPrediction& prediction, std::size_t parts) {
  add_number(text, prediction.time_us);
  add_number(text, prediction.lower_us);
  add_number(text, prediction.upper_us);
  text += fmt::format(",{},{},{}", prediction.bound, prediction.error,
                      base::csv_cell(prediction.reason));
  for (std::size_t i = 0; i < parts; ++i) {
    add_part(text, i < prediction.parts.size() ? prediction.parts[i] : model::Part{});
  }
  text += '\n';
}

void run_predict(const PredictOptions& options) {
  const read::Table table = read_measured(options.model, options.input);
  const ChosenModel chosen = choose_model(options.model, table);
  model::RowReader reader = row_reader(chosen, table);
  std::string text = header(table, chosen.model);
  Progress progress("rows predicted");
  for (std::size_t i = 0; i < table.row_count(); ++i) {
    const model::Row row = reader.read(i);
    text += table.row_text(i);
    add_prediction(text, chosen.model.predict(row), chosen.model.parts.size());
    if (options.explain) {
      std::fprintf(stderr, "line %zu\n%s\n", table.line(i), chosen.model.explain(row).c_str());
    }
    progress.step(i + 1, table.row_count());
  }
  write_result(options.output, text, options.force);
}

}  // namespace

void declare_predict(Command& command, int& /*status*/) {
  const auto options = std::make_shared<PredictOptions>();
  declare_model(command, options->model);
  command.add_option("TABLE", options->input, "CSV file; prof-model list MODEL names its columns")
      .required();
  command.add_output(options->output, options->force);
  command.add_flag("--explain", options->explain,
                   "Say for every row how the prediction comes about, on standard error");
  command.on_run([options] { run_predict(*options); });
}

}  // namespace inline_prof::cli
