// prof-model plot: pictures of a model beside measured times.
#include "base/command_line.hpp"
#include "base/error_metrics.hpp"
#include "cli/common/picture_output.hpp"
#include "cli/prof_model/commands.hpp"
#include "cli/prof_model/model_choice.hpp"
#include "model/published/collective/collective_fit.hpp"
#include "model/published/collective/curve_sets.hpp"
#include "model/row_reader.hpp"
#include "report/plot/model_charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace inline_prof::cli {
namespace {

struct PlotOptions {
  ModelArguments model;
  std::string input;
  std::string measured;  // empty: time_us or latency_us
  std::string kind = "all";
  std::string curve;  // empty: all curves of the table
  std::string output;
  bool force = false;
};

std::size_t measured_column(const read::Table& table, const std::string& name) {
  if (!name.empty()) return table.require(name);
  if (const auto column = table.find("time_us")) return *column;
  if (const auto column = table.find("latency_us")) return *column;
  throw read::InputError(
      fmt::format("{}: line 1: no column time_us; --measured names another one", table.label()));
}

// Predictions beside what was measured, and the sentence that says what is missing.
struct Comparison {
  std::vector<base::Judged> rows;
  std::size_t unpredicted = 0;
  std::size_t unmeasured = 0;
};

Comparison compare(const read::Table& table, const ChosenModel& chosen, std::size_t measured,
                   const std::vector<std::size_t>& rows) {
  model::RowReader reader(table, chosen.model->inputs(), chosen.constants);
  Comparison comparison;
  for (const std::size_t i : rows) {
    const auto time = table.optional_number(i, measured);
    if (!time) {
      ++comparison.unmeasured;
      continue;
    }
    if (!(*time > 0)) {
      table.fail(i, measured, fmt::format("expected a time > 0, found {}", *time));
    }
    const model::RowPrediction prediction = chosen.model->predict(reader.read(i));
    if (prediction.time_us && *prediction.time_us > 0) {
      comparison.rows.push_back(
          {*prediction.time_us, *time, prediction.lower_us, prediction.upper_us});
    } else {
      ++comparison.unpredicted;
    }
  }
  return comparison;
}

// The rows of the curve that is asked for, else all.
std::vector<std::size_t> chosen_rows(const PlotOptions& options, const read::Table& table) {
  if (options.curve.empty()) {
    std::vector<std::size_t> rows(table.row_count());
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    return rows;
  }
  const auto curves = fit::measured_curves(table);
  const auto it = std::ranges::find(curves, options.curve, &fit::MeasuredCurve::name);
  if (it == curves.end()) {
    throw UsageError(fmt::format("--curve {}: {} has no such curve", options.curve, table.label()));
  }
  return it->rows;
}

// Adds the model's time over `sizes` for the row that a curve begins with.  The row's own cells
// stay, but for the size.
void add_predictions(const read::Table& table, const ChosenModel& chosen, std::size_t row,
                     const std::vector<double>& sizes, report::SizeCurve& curve) {
  const auto inputs = chosen.model->inputs();
  model::RowReader reader(table, inputs, chosen.constants);
  const model::Row first = reader.read(row);
  std::vector<model::Cell> cells;
  std::optional<std::size_t> size;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    cells.push_back({.is_present = first.has(i), .number = first.number(i), .text = first.text(i)});
    const bool is_size = inputs[i].name == "size_bytes" || inputs[i].name == "bytes";
    if (is_size && first.has(i) && !size) size = i;
  }
  if (!size) return;
  for (const double bytes : sizes) {
    cells[*size].number =
        inputs[*size].kind == model::ColumnKind::kInteger ? std::round(bytes) : bytes;
    const model::RowPrediction prediction = chosen.model->predict(model::Row(cells));
    const double at = cells[*size].number;
    if (prediction.time_us) curve.predicted.push_back({at, *prediction.time_us});
    if (prediction.lower_us) curve.lower.push_back({at, *prediction.lower_us});
    if (prediction.upper_us) curve.upper.push_back({at, *prediction.upper_us});
  }
}

// Sizes from the first to the last measured one, 16 for each doubling: the model's jumps show.
std::vector<double> dense_sizes(const fit::MeasuredCurve& curve) {
  constexpr double per_doubling = 16.0;
  const auto least = std::ranges::find_if(curve.bytes, [](double bytes) { return bytes > 0; });
  std::vector<double> sizes;
  if (least == curve.bytes.end()) return sizes;
  const double doublings = std::log2(curve.bytes.back() / *least);
  for (double i = 0; i <= doublings * per_doubling; ++i) {
    sizes.push_back(*least * std::exp2(i / per_doubling));
  }
  return sizes;
}

// The turning points of the curve that the parameters have under this name or for these ranks.
void add_turning_points(const ModelArguments& model, const fit::MeasuredCurve& measured,
                        report::SizeCurve& curve) {
  if (model.params.empty()) return;
  std::vector<std::string> ignored;  // choose_model() has said it already
  const auto curves = model::collective::read_curves(model.params, ignored);
  auto it = std::ranges::find(curves, measured.name, &model::collective::NamedCurve::name);
  if (it == curves.end()) {
    it = std::ranges::find_if(curves, [&](const model::collective::NamedCurve& named) {
      return named.collective == measured.collective &&
             static_cast<double>(named.ranks) == measured.ranks;
    });
  }
  if (it == curves.end()) return;
  curve.linear_until = std::exp2(it->curve.linear_until);
  curve.saturated_from = std::exp2(it->curve.saturated_from);
}

std::vector<report::Chart> curve_charts(const PlotOptions& options, const read::Table& table,
                                        const ChosenModel& chosen) {
  std::vector<report::Chart> charts;
  for (const fit::MeasuredCurve& measured : fit::measured_curves(table)) {
    if (!options.curve.empty() && measured.name != options.curve) continue;
    report::SizeCurve curve{
        .name = measured.name,
        .bus_factor =
            model::collective::bus_factor(measured.collective, measured.ranks).value_or(1.0),
        .measured = {},
        .predicted = {},
        .lower = {},
        .upper = {},
        .linear_until = {},
        .saturated_from = {}};
    add_predictions(table, chosen, measured.rows.front(), dense_sizes(measured), curve);
    for (std::size_t i = 0; i < measured.bytes.size(); ++i) {
      curve.measured.push_back({measured.bytes[i], measured.latency_us[i]});
    }
    if (options.model.mode != model::Mode::kCalibrated) {
      add_turning_points(options.model, measured, curve);
    }
    for (report::Chart& chart : report::curve_charts(curve))
      charts.push_back(std::move(chart));
  }
  return charts;
}

std::string sentence(const base::ErrorSummary& errors) {
  return fmt::format(
      "{} rows: MAPE {:.2f} %, median {:.2f} %, 90 % of the rows within {:.2f} %, "
      "bias {:+.2f} %, GMAE {:.2f} %.",
      errors.count, 100 * errors.mape, 100 * errors.median, 100 * errors.p90, 100 * errors.bias,
      100 * errors.gmae);
}

void run_plot(const PlotOptions& options) {
  check_picture_name(options.output);
  const bool all = options.kind == "all";
  const bool is_collective = options.model.model == "collective";
  if (!is_collective && (options.kind == "curve" || !options.curve.empty())) {
    throw UsageError("only the model collective has curves over message sizes");
  }
  const read::Table table = read::read_table(options.input);
  const ChosenModel chosen = choose_model(options.model, table);
  const std::vector<std::size_t> rows = chosen_rows(options, table);
  std::vector<report::Chart> charts;
  std::vector<std::string> words;
  if (is_collective && (all || options.kind == "curve")) {
    charts = curve_charts(options, table, chosen);
  }
  if (all || options.kind == "scatter" || options.kind == "errors") {
    const Comparison comparison =
        compare(table, chosen, measured_column(table, options.measured), rows);
    if (const auto errors = base::summarize(comparison.rows)) words.push_back(sentence(*errors));
    words.push_back(fmt::format("{} rows without a prediction, {} without a measured time.",
                                comparison.unpredicted, comparison.unmeasured));
    if (all || options.kind == "scatter") {
      charts.push_back(report::scatter_chart(comparison.rows, "measured and predicted"));
    }
    if (all || options.kind == "errors") {
      charts.push_back(report::error_chart(comparison.rows, "errors"));
    }
  }
  for (const std::string& line : words)
    std::fprintf(stderr, "%s\n", line.c_str());
  const report::Picture picture = report::draw(charts, 2);
  write_picture(options.output, picture, fmt::format("{}: {}", options.model.model, options.input),
                words, options.force);
}

}  // namespace

void declare_plot(Command& program) {
  const auto options = std::make_shared<PlotOptions>();
  Command command =
      program.add_subcommand("plot", "Draws predictions beside measured times: svg, png or html");
  declare_model(command, options->model);
  command.add_option("TABLE", options->input, "CSV file with the model's columns and a time")
      .required();
  command.add_option("--measured", options->measured,
                     "Column of the measured time, microseconds; default: time_us or latency_us");
  command
      .add_option("--kind", options->kind,
                  "curve: time and bandwidth over message size; scatter; errors; or all")
      .check(one_of({"all", "curve", "scatter", "errors"}))
      .shows_default();
  command.add_option("--curve", options->curve, "Draw only this curve of the table");
  command.add_option("-o,--output", options->output, "Picture to write: .svg, .png or .html")
      .required();
  command.add_flag("--force", options->force, "Replace the picture if it exists");
  command.on_run([options] { run_plot(*options); });
}

}  // namespace inline_prof::cli
