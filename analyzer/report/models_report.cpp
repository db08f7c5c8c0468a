
#include "join/rollups.hpp"
#include "report/tables.hpp"
#include "report/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace inline_prof::report {
namespace {

std::string percent(const std::optional<join::Errors>& errors, double join::Errors::*member) {
  return errors ? fmt::format("{:.1f} %", 100 * (*errors).*member) : "-";
}

// Reasons are long and few: a row names a number only.
class Notes {
 public:
  std::string number_of(const std::string& reason) {
    if (reason.empty()) return {};
    auto found = std::ranges::find(reasons_, reason);
    if (found == reasons_.end()) found = reasons_.insert(found, reason);
    return fmt::format("({})", found - reasons_.begin() + 1);
  }
  [[nodiscard]] std::string text() const {
    std::string text;
    for (std::size_t i = 0; i < reasons_.size(); ++i)
      text += fmt::format("({}) {}\n", i + 1, printable(reasons_[i]));
    return text;
  }

 private:
  std::vector<std::string> reasons_;
};

Grid scores_grid(const std::vector<join::ModelScore>& scores, Notes& notes) {
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
         without == 0 ? "" : fmt::format("{} {}", without, notes.number_of(score.reason))});
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
  Notes notes;
  std::string text = heading("models: predicted against measured");
  text += grid_text(scores_grid(scores, notes), format);
  text += (is_markdown ? "\n" : "") + notes.text();
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
