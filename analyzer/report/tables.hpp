// Reports for people: in a terminal, as a page of text, or as one that needs no network.
#pragma once

#include "join/analysis.hpp"
#include "join/compare/compare.hpp"
#include "join/notable_rows.hpp"
#include "join/ranks/ranks.hpp"
#include "join/watch/watched_run.hpp"
#include "read/machine.hpp"
#include "report/text.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::report {

struct TableOptions {
  std::size_t top = 0;     // only this many rows of each list, the largest; 0: all
  std::size_t width = 80;  // columns; longer names lose their middle
  bool colour = false;     // for a terminal
  bool details = true;     // the whole head, and all rows
  std::string layers{};    // glob: only the rows of these layers; empty: all
};

// Returns layer, event and occurrence as the table names a row.
[[nodiscard]] std::string name_of_row(const join::MergedRow& row);

// Returns a summary: what, why and next, what could be saved, and where the time goes by layers and
// operators.  With details, the rows of some layers or the `top` ones, two lines follow for each
// row (one, if there is room): the largest share first, the rows that a region encloses below it.
[[nodiscard]] std::string table_report(const join::Analysis& analysis, const TableOptions& options);

// Returns the head as Markdown, then a table of the merged rows.
[[nodiscard]] std::string markdown_report(const join::Analysis& analysis,
                                          const TableOptions& options);

// Returns what changed, the layers that did it, then the kernels; each list begins with the largest
// change and holds at most `top` (0: all).
[[nodiscard]] std::string compare_table(const join::Comparison& comparison,
                                        const TableOptions& options);
[[nodiscard]] std::string compare_markdown(const join::Comparison& comparison, std::size_t top);
[[nodiscard]] std::string compare_html(const join::Comparison& comparison, std::size_t top);

// Returns slow devices, stragglers and collectives.
[[nodiscard]] std::string ranks_table(const join::RankComparison& comparison,
                                      const TableOptions& options);

// Returns "layer decoder.3.mlp of rank 3 became 1.031 times slower [1.020, 1.042] at 2026-11-24
// 14:02, iteration 123,456: SM clock 1980 -> 1410 MHz: power cap".
[[nodiscard]] std::string change_words(const join::WatchedRun& run, const join::RunChange& change);

// Returns how long was watched, how often, and what it cost.
[[nodiscard]] std::string watched_words(const join::WatchedRun& run);

// Appends how long was watched, what recurs and what changed, at most `top` of each (0: all).
void add_watched(std::string& out, const join::WatchedRun& run, std::size_t top, std::size_t width);

// Returns the same, then the times of the layers.
[[nodiscard]] std::string history_text(const join::WatchedRun& run, std::size_t top,
                                       std::size_t width);

// Returns how each model does on this run, and the rows with each model's prediction side by side
// (prof-analyze --models all): both tables with their headings, at most `top` rows of each kind (0:
// all), the longest first; "" unless all models were asked.  `format` is kTable or kMarkdown.
[[nodiscard]] std::string models_text(const join::Analysis& analysis, std::size_t top,
                                      GridFormat format);

struct HeadLine {
  std::string label;  // empty: goes on with the line before
  std::string text;
};

// Returns what a reader has to know before he believes a number, all but the shares.
[[nodiscard]] std::vector<HeadLine> head_lines(const join::Analysis& analysis);

// Returns one sentence about lines of this label; empty if their words say it themselves.
[[nodiscard]] std::string_view meaning_of(std::string_view label);

// Returns the same as text for a terminal, with the shares.
[[nodiscard]] std::string head(const join::Analysis& analysis, std::size_t width);

inline constexpr std::string_view kSimulatedWords = "SIMULATED GPU: times are a model's. ";

// Returns kSimulatedWords if a run was on one; else nothing.
[[nodiscard]] std::string_view simulated_words(const join::Analysis& analysis);

// Returns what makes a run doubtful, to stand in front of all that is said of it: that it is not
// complete, that its iterations may be none.  Empty if there is nothing.
[[nodiscard]] std::string doubts_of(const join::Analysis& analysis);

// Returns "run 1,564 steps", with an option where fewer samples were asked for.
[[nodiscard]] std::string steps_for_intervals(const join::MissingSamples& missing);

// Returns the newest changes of a run that was watched: the times of the report may be older.
[[nodiscard]] std::vector<std::string> described_changes(const join::Analysis& analysis);

// A summary in three sentences, for somebody who reads no further.
struct Findings {
  std::string what;  // how long, and how much of it is understood
  std::string why;   // names the rows that take longer than predicted
  std::string next;  // what to do about it
};
[[nodiscard]] Findings findings(const join::Analysis& analysis);

// True if there are events, and none has a sample: their times are predictions.
[[nodiscard]] bool is_nothing_measured(const join::Analysis& analysis);

// Returns "99.1 % of the kernels' time is predicted, the rest and waiting (93.0 % of the step)
// count as measured", to follow the predicted time of a step.
[[nodiscard]] std::string describe_predicted_part(const join::Analysis& analysis);

// Returns the report as one page, which needs no other file and no network.  Names from files are
// data in it: report/html/page.js shows them as text.  `machines` are the candidates for the
// roofline; samples are shown if the analysis has kept them.  The page can switch to
// `other_phases`, which are analyses of the same files.
[[nodiscard]] std::string html_report(const join::Analysis& analysis,
                                      std::span<const read::Machine> machines,
                                      std::span<const join::Analysis> other_phases = {});

// Returns a page of histories: layers and ranks by time, readings of the machines, and changes
// marked in all of them.  `json` is that of exports::history_json.
[[nodiscard]] std::string history_page(std::string_view json);

// True if this program was built with the library that draws the charts.  Without it the page has
// tables only.
[[nodiscard]] bool html_has_charts();

}  // namespace inline_prof::report
