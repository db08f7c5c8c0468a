// The words of a report in front of its rows.
#pragma once

#include "join/analysis.hpp"
#include "join/notable_rows.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::report {

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

// Returns "SIMULATED GPU: times are a model's. " if a run was on one; else nothing.
[[nodiscard]] std::string_view simulated_words(const join::Analysis& analysis);

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

}  // namespace inline_prof::report
