#include "join/notable_rows.hpp"
#include "join/rollups.hpp"
#include "report/columns.hpp"
#include "report/tables.hpp"
#include "report/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace inline_prof::report {
namespace {

std::string number(const std::optional<double>& value) {
  return value ? fmt::format("{:.2f}", *value) : "-";
}

// The name stands on the same line where it has this much room.
constexpr std::size_t kNameRoom = 48;
// A verdict has 18 columns at most.
constexpr std::size_t kVerdictWidth = 19;

using Columns = std::vector<const Column<join::MergedRow>*>;

std::size_t width_of(const Columns& shown) {
  std::size_t width = kVerdictWidth;
  for (const auto* column : shown) {
    if (column->shown.width != 0)
      width += static_cast<std::size_t>(std::abs(column->shown.width)) + 1;
  }
  return width;
}

// Adds a line with the cell that `text` gives for each column.
template <typename Text>
void add_line(std::string& out, const Columns& shown, const Text& text) {
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const int width = shown[i]->shown.width;
    const std::string cell = text(*shown[i]);
    if (i > 0) out += ' ';
    out += width < 0 ? fmt::format("{:<{}}", cell, -width) : fmt::format("{:>{}}", cell, width);
  }
  out += '\n';
}

std::string marked(const join::MergedRow& row, bool colour) {
  std::string text = join::verdict_text(row);
  switch (row.verdict) {
    case join::Verdict::kSlower:
      return painted("> " + text, Mood::kBad, colour);
    case join::Verdict::kFaster:
      return painted("< " + text, Mood::kGood, colour);
    case join::Verdict::kAsPredicted:
      return "= " + text;
    default:
      return text;
  }
}

// Ranks scatter by less than a tenth of the time.
constexpr double kLeastWaitingPart = 0.1;
constexpr std::string_view kHasWaited = "without what the ranks wait for the one that comes last";
bool has_waited(const join::MergedRow& row) {
  return row.waited_us.value_or(0.0) > kLeastWaitingPart * row.corrected_us.value_or(0.0);
}

// Returns the verdict, or that there is none, with the number of the note that says why.
std::string verdict_cell(const join::MergedRow& row, Footnotes& footnotes, bool colour) {
  if (!row.predicted_us)
    return (row.verdict == join::Verdict::kImpossible ? "impossible " : "no prediction ") +
           footnotes.number_of(row.reason);
  const std::string verdict = marked(row, colour);
  return has_waited(row) ? verdict + ' ' + footnotes.number_of(kHasWaited) : verdict;
}

std::size_t indent_of(const join::OrderedRow& place) {
  return std::min<std::size_t>(2 * place.depth, 16);
}

// Sets the run beside the same operations alone on the GPU; the largest loss comes first.
void write_isolated(std::string& out, const join::Analysis& analysis, std::size_t top,
                    std::size_t width) {
  const auto rows = join::isolated_by_loss(analysis);
  if (rows.empty()) return;
  const std::size_t count = top == 0 ? rows.size() : std::min(top, rows.size());
  out += "\nthe same operations alone on the GPU\n";
  out += fmt::format("{:>10} {:>10} {:>10} {}\n", "in run us", "alone", "predicted", "cause");
  for (std::size_t i = 0; i < count; ++i) {
    const join::MergedRow& row = *rows[i];
    out += fmt::format("{}\n{:>10} {:>10} {:>10} {}\n", shortened(name_of_row(row), width),
                       number(row.corrected_us), number(row.isolated->alone_us),
                       number(row.predicted_us), row.isolated->cause);
  }
}

void write_rows(std::string& out, const join::Analysis& analysis, const TableOptions& options,
                std::size_t width) {
  const auto [order, nothing_known, other_layers] =
      join::row_order(analysis, options.top, options.layers);
  const Columns all = columns_in(&Shown<join::MergedRow>::table);
  Columns shown = all;
  std::erase_if(shown, [](const auto* column) { return column->name == "predicted_ci90_us"; });
  const bool is_one_line = width >= width_of(shown) + kNameRoom;
  if (width >= width_of(all) + (is_one_line ? kNameRoom : 0)) shown = all;
  const std::size_t numbers_width = width_of(shown);
  std::size_t name_width = width;
  if (is_one_line) {  // no wider than the longest name: numbers belong near to it
    name_width = 0;
    for (const join::OrderedRow& place : order)
      name_width =
          std::max(name_width, indent_of(place) + columns(name_of_row(analysis.merged[place.row])));
    name_width = std::min(name_width + 1, width - numbers_width);
  }
  out += '\n';
  if (is_one_line) out.append(name_width, ' ');
  add_line(out, shown, [](const auto& column) { return std::string(column.shown.heading); });
  out += std::string(width, '-') + "\n";

  Footnotes footnotes;
  bool any_upper_bound = false;
  for (const join::OrderedRow& place : order) {
    const join::MergedRow& row = analysis.merged[place.row];
    const std::size_t indent = indent_of(place);
    const std::string name = shortened(name_of_row(row), name_width - indent);
    const bool upper_bound = row.is_upper_bound();
    any_upper_bound = any_upper_bound || upper_bound;
    out += fmt::format("{}{}", std::string(indent, ' '), name);
    if (is_one_line) {
      out.append(name_width - indent - columns(name), ' ');
    } else {
      out += '\n';
    }
    add_line(out, shown, [&](const auto& column) {
      if (column.name == "verdict") return verdict_cell(row, footnotes, options.colour);
      std::string cell = cell_text(column, row, "%");
      if (cell.empty()) cell = "-";
      return column.name == "raw_us" && upper_bound ? "<= " + cell : cell;
    });
  }
  out += std::string(width, '-') + "\n";
  if (other_layers > 0) out += fmt::format("{} rows of other layers left out\n", other_layers);
  if (order.size() + nothing_known + other_layers < analysis.merged.size())
    out += fmt::format("{} of {} rows, the largest first\n", order.size(), analysis.merged.size());
  if (nothing_known > 0)
    out += counted(nothing_known, "row") + " without a time or a prediction left out\n";
  if (any_upper_bound)
    out += "<= the GPU waited for the host inside most samples: the time is an upper bound\n";
  footnotes.write(out, width, true);
}

// Ten lines of a list say where the time goes.
constexpr std::size_t kMostTotals = 10;
constexpr std::size_t kMostCauses = 5;

void write_causes(std::string& out, const join::Analysis& analysis, std::size_t width) {
  const std::vector<join::Cause> causes = join::find_causes(analysis);
  if (causes.empty()) return;
  out += "\ncould be saved at most\n";
  for (std::size_t i = 0; i < std::min(kMostCauses, causes.size()); ++i) {
    const join::Cause& cause = causes[i];
    const std::string kernels =
        cause.rows == 0 ? ""
                        : fmt::format(": {}, {} of the step", counted(cause.rows, cause.unit),
                                      part_of_step(cause.share_percent, "%", cause.time_us));
    const std::string percent =
        cause.gain_percent ? fmt::format("{:.1f}%", *cause.gain_percent) : "-";
    out += fmt::format("{:>7} {:>10.2f} us  {}\n", percent, cause.gain_us,
                       shortened(cause.name, width - 22 - kernels.size()) + kernels);
    std::string advice = cause.advice;
    if (!cause.where.empty())
      advice += fmt::format("; first {}{}", cause.rows == 0 ? "" : "in ",
                            shortened(readable_name(cause.where), kMostOfAName));
    add_labelled(out, "", advice, width);
  }
  if (causes.size() > kMostCauses) out += fmt::format("and {} more\n", causes.size() - kMostCauses);
}

void write_totals(std::string& out, std::string_view title, const std::vector<join::Total>& totals,
                  std::size_t width) {
  if (totals.empty()) return;
  out += fmt::format("\n{:>7} {:>10} {:>6} {:>7} {:>6}  {}\n", "share", "us", "number", "of pred",
                     "peak", title);
  std::vector<std::string> names;
  names.reserve(kMostTotals);
  for (std::size_t i = 0; i < std::min(kMostTotals, totals.size()); ++i)
    names.push_back(printable(totals[i].name));
  names = shortened_apart(names, width - 43);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const join::Total& total = totals[i];
    const bool is_known = total.time_us > 0;
    out += fmt::format(
        "{:>7} {:>10} {:>6} {:>7} {:>6}  {}\n",
        is_known && total.share_percent ? fmt::format("{:.1f}%", *total.share_percent) : "-",
        is_known ? fmt::format("{:.2f}", total.time_us) : "-", total.count,
        total.ratio ? fmt::format("{:.2f}", *total.ratio) : "-",
        total.peak_part ? fmt::format("{:.0f}%", 100.0 * *total.peak_part) : "-", names[i]);
  }
  if (totals.size() > kMostTotals)
    out += fmt::format("and {} more, which take less\n", totals.size() - kMostTotals);
}

void write_summary(std::string& out, const join::Analysis& analysis, const TableOptions& options,
                   std::size_t width) {
  const Findings found = findings(analysis);
  add_labelled(out, "what", found.what, width);
  add_labelled(out, "why", found.why, width);
  add_labelled(out, "next", found.next, width);
  for (const std::string& change : described_changes(analysis))
    add_labelled(out, "changed", change, width);
  write_causes(out, analysis, width);
  if (!is_nothing_measured(analysis)) {  // else the times would be predictions
    write_totals(out, "layers, * for numbers", join::totals_by_layer_pattern(analysis), width);
    write_totals(out, "operators", join::totals_by_operator(analysis), width);
  }
  out += '\n';
  if (options.details) return;
  constexpr std::size_t most_warnings = 10;
  for (std::size_t i = 0; i < std::min(most_warnings, analysis.warnings.size()); ++i)
    add_labelled(out, "warning", analysis.warnings[i], width);
  if (analysis.warnings.size() > most_warnings)
    add_labelled(out, "", fmt::format("and {} more", analysis.warnings.size() - most_warnings),
                 width);
  add_labelled(
      out, "more",
      "--verbose: how it was measured, and all rows; --top N; --layer 'GLOB'; --format html",
      width);
}

}  // namespace

std::string name_of_row(const join::MergedRow& row) {
  std::string name = row.layer.empty() ? "" : row.layer + "  ";
  name += readable_event(row.event, row.source);
  if (row.occurrence > 0) name += fmt::format(" #{}", row.occurrence);
  return printable(name);
}

std::string table_report(const join::Analysis& analysis, const TableOptions& options) {
  const std::size_t width = std::max<std::size_t>(options.width, 60);
  const bool has_rows = options.details || options.top > 0 || !options.layers.empty();
  std::string out;
  write_summary(out, analysis, options, width);
  if (options.details) out += head(analysis, width);
  if (has_rows) write_rows(out, analysis, options, width);
  write_isolated(out, analysis, options.top, width);
  return out;
}

namespace {

// Escapes '|', which would end the cell, and anything that a renderer may take for HTML.
std::string markdown_cell(std::string_view text) {
  std::string cell;
  for (const char c : printable(text)) {
    if (c == '|') cell += '\\';
    if (c == '<') {
      cell += "&lt;";
    } else if (c == '&') {
      cell += "&amp;";
    } else {
      cell += c;
    }
  }
  return cell;
}

// Returns the heading, followed by the unit of a time unless it has it.
std::string heading(const Column<join::MergedRow>& column) {
  const std::string text(column.shown.heading);
  return column.unit == Unit::kMicroseconds && !text.ends_with(" us") ? text + " us" : text;
}

bool is_number(const Column<join::MergedRow>& column) {
  return column.unit != Unit::kNone || std::holds_alternative<std::int64_t>(column.type);
}

}  // namespace

std::string markdown_report(const join::Analysis& analysis, const TableOptions& options) {
  constexpr std::size_t head_width = 100;
  std::string out = "```\n";
  write_summary(out, analysis, {.details = true}, head_width);
  out += head(analysis, head_width) + "```\n\n";
  const auto columns = columns_in(&Shown<join::MergedRow>::markdown);
  std::string rule;
  for (const auto* column : columns) {
    out += fmt::format("| {} ", heading(*column));
    rule += is_number(*column) ? "|---:" : "|---";
  }
  out += "|\n" + rule + "|\n";
  for (const join::OrderedRow& place :
       join::row_order(analysis, options.top, options.layers).rows) {
    for (const auto* column : columns)
      out += "| " + markdown_cell(cell_text(*column, analysis.merged[place.row], " %")) + " ";
    out += "|\n";
  }
  return out;
}

namespace {

std::string percent(const std::optional<join::Errors>& errors, double join::Errors::*member) {
  return errors ? fmt::format("{:.1f} %", 100 * (*errors).*member) : "-";
}

Grid scores_grid(const std::vector<join::ModelScore>& scores, Footnotes& notes) {
  Grid grid{{"kind", "model", "rows", "time", "GMAE", "MAPE", "bias", "inside", "without"}, {}};
  for (const join::ModelScore& score : scores) {
    const std::size_t without = score.rows - score.predicted;
    grid.rows.push_back(
        {score.kind, score.model, fmt::format("{} of {}", score.predicted, score.rows),
         fmt::format("{:.1f} %", score.share_percent), percent(score.errors, &join::Errors::gmae),
         percent(score.errors, &join::Errors::mape),
         score.errors ? fmt::format("{:+.1f} %", 100 * score.errors->bias) : "-",
         score.with_interval == 0 ? "-"
                                  : fmt::format("{} of {}", score.inside, score.with_interval),
         without == 0 ? ""
                      : fmt::format("{} {}", without,
                                    score.reason.empty() ? "" : notes.number_of(score.reason))});
  }
  return grid;
}

std::string time_text(const std::optional<double>& time_us) {
  return time_us ? fmt::format("{:.2f}", *time_us) : "-";
}

// The rows of one kind, a column for each model that predicts any of them.
Grid rows_grid(const join::Analysis& analysis, const std::vector<join::ModelScore>& scores,
               std::vector<const join::MergedRow*> rows, std::size_t top) {
  std::ranges::stable_sort(rows, std::greater{}, [](const join::MergedRow* row) {
    return row->in_iteration_us.value_or(row->corrected_us.value_or(0.0));
  });
  if (top > 0 && rows.size() > top) rows.resize(top);
  Grid grid{{"measured us"}, {}};
  std::vector<std::string> models;
  for (const join::ModelScore& score : scores) {
    if (score.predicted == 0) continue;
    models.push_back(score.model);
    grid.columns.push_back(score.model == join::kOwnChoice ? "chosen" : score.model);
  }
  grid.columns.emplace_back("layer and event");
  for (const join::MergedRow* row : rows) {
    const auto& times = join::by_model_of(analysis, *row);
    auto& cells = grid.rows.emplace_back();
    cells.emplace_back(time_text(row->corrected_us));
    for (const std::string& model : models) {
      const auto found = std::ranges::find(
          times, model, [](const join::ModelTime& time) { return time.model.str(); });
      const bool is_own = model == join::kOwnChoice;
      cells.emplace_back(time_text(is_own                 ? row->predicted_us
                                   : found == times.end() ? std::optional<double>()
                                                          : found->predicted_us));
    }
    cells.emplace_back(shortened(name_of_row(*row), 60));
  }
  return grid;
}

}  // namespace

std::string models_text(const join::Analysis& analysis, std::size_t top, GridFormat format) {
  const auto scores = join::model_scores(analysis);
  if (scores.empty()) return {};
  const bool is_markdown = format == GridFormat::kMarkdown;
  const auto heading = [&](std::string_view words) {
    return is_markdown ? fmt::format("\n## {}\n\n", words) : fmt::format("\n{}\n", words);
  };
  Footnotes notes;
  std::string text = heading("models: predicted against measured");
  text += grid_text(scores_grid(scores, notes), format);
  text += is_markdown ? "\n" : "";
  for (std::size_t i = 0; i < notes.notes().size(); ++i)
    text += fmt::format("({}) {}\n", i + 1, printable(notes.notes()[i].first));
  std::map<std::string, std::vector<const join::MergedRow*>> rows;
  for (const join::MergedRow& row : analysis.merged) {
    if (!row.corrected_us || join::by_model_of(analysis, row).empty()) continue;
    rows[analysis.rows[row.rows.front()].op_kind.str()].push_back(&row);
  }
  for (auto score = scores.begin(); score != scores.end();) {
    const auto next = std::find_if(score, scores.end(),
                                   [&](const auto& other) { return other.kind != score->kind; });
    text += heading(fmt::format("{}: each model's prediction, us", score->kind));
    const auto& of_kind = rows[score->kind];
    text += grid_text(rows_grid(analysis, {score, next}, of_kind, top), format);
    if (top > 0 && top < of_kind.size())
      text += fmt::format("{}{} of {} rows, the largest first\n", is_markdown ? "\n" : "", top,
                          of_kind.size());
    score = next;
  }
  return text;
}

}  // namespace inline_prof::report
