// Two runs of a program, layer by layer: is the second one slower?
#pragma once

#include "join/analysis.hpp"
#include "join/notable_rows.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::join {

// kAdded and kRemoved: only one of the runs has it.
enum class Change : std::uint8_t { kSame, kFaster, kSlower, kAdded, kRemoved, kAmbiguous };
[[nodiscard]] std::string_view change_name(Change change);  // "SAME"

// A time with the interval that holds it with 95 %.
struct Estimate {
  double value = 0.0;
  std::optional<Interval> ci95;
};

// A layer, layers of one pattern together, or one event on all devices; times are corrected medians
// of an iteration.
struct ComparedTime {
  std::string layer;  // of several layers their pattern, "blocks.*.attn"
  std::size_t layers = 1;
  std::string event;                    // empty: the layer as a whole
  std::string source;                   // of the event, as MergedRow::source
  std::int64_t occurrence = 0;          // how often the event came before in this layer
  std::optional<double> share_percent;  // of the first run's iteration
  Estimate before_us;                   // 0 where the run does not have it
  Estimate after_us;
  std::optional<double> ratio;  // after / before
  std::optional<Interval> ratio_ci95;
  Change change = Change::kAmbiguous;
  bool kernels_changed = false;  // the runs have different events in the layer
  std::string sizes;             // "m 2048 -> 4096"; empty: its operations have the same
  std::string reason;            // why ambiguous; else empty
};

// A difference that may make two runs differ although the program is the same.
struct Difference {
  std::string what;  // clocks, driver, mig, libraries, gpu or sizes: a word for CompareOptions
  std::string text;  // "libraries: cublas 13.1.0 before, 13.2.0 after"
  bool is_allowed = false;  // in CompareOptions::despite
};

struct CompareOptions {
  double min_share_percent = 1.0;    // of the iteration; smaller layers do not count
  double margin = 0.05;              // ratios from 1 / (1 + margin) to 1 + margin are the same
  std::vector<std::string> despite;  // differences that the user knows of: Difference::what
};

struct Comparison {
  double margin = 0.0;
  double min_share_percent = 0.0;
  bool is_simulated = false;  // one of the runs was
  std::string doubts;         // what makes the two doubtful, as a report says it in front
  Interval same_ratios;       // that lie within it
  std::string phase_before;   // "phase 2 of 3: ..."; empty where the run has one
  std::string phase_after;
  std::optional<ComparedTime> iteration;
  std::vector<ComparedTime> patterns;  // of two layers or more, the largest change first
  std::vector<ComparedTime> layers;    // the same
  std::vector<ComparedTime> events;    // the same
  std::vector<Difference> differences;
  std::optional<MissingSamples> missing;  // of a run in which events have too few for intervals
};

// Sizes are a difference of the layers whose operations have others, and of the iteration; those
// within the margin are the same.
//
// With an interval of the ratio that lies within the margin the change is kSame, beyond it kFaster
// or kSlower; an interval that spans a border of the margin, or a difference that is not in
// `despite`, leaves it kAmbiguous.
//
// The interval comes from those of the two medians, in logarithms: G. Y. Zou, A. Donner,
// "Construction of confidence limits about effect measures: a general approach", Statistics in
// Medicine 27(10), 2008, doi:10.1002/sim.3095.  A layer is the sum of its outermost events, its
// interval made of theirs in the same way.  If both runs have the same events in it, those count
// that both have measured; else all of them.
//
// Throws std::invalid_argument if the two have neither a named layer nor an event in common.
[[nodiscard]] Comparison compare_runs(const Analysis& before, const Analysis& after,
                                      const CompareOptions& options);

// Returns "33.6 % slower", "3.8 times as long", "2.6 % faster, within the margin of 5 %", "same".
[[nodiscard]] std::string change_words(const ComparedTime& time, double margin);

// Returns what differs between the machines, drivers and libraries of two runs.  A fact that one of
// the files does not give is no difference.
[[nodiscard]] std::vector<Difference> run_differences(const Analysis& before,
                                                      const Analysis& after);

// Conditions that a run has to meet: "ratio<1.3", "iteration_ms<=12".

// METRIC, or METRIC[LAYER GLOB] for the metrics of rows, then < <= > or >=, then a number.
struct Gate {
  std::string text;  // as the user wrote it
  std::string metric;
  std::string layers;  // glob; empty: all
  bool is_upper_limit = true;
  bool includes_limit = false;
  double limit = 0.0;
};

// Throws std::invalid_argument with what was found where and what was expected.
[[nodiscard]] Gate parse_gate(const std::string& text);

enum class GateResult { kPassed, kFailed, kUndecided };

struct GateOutcome {
  GateResult result = GateResult::kUndecided;
  std::string detail;              // the value, or the row, that decides; or why nothing can
  std::optional<double> value{};   // of the run, or of that row; empty where all rows pass
  std::optional<Interval> ci95{};  // 95 % interval
};

// A row passes or fails only if its whole 95 % interval does; without an interval nothing is
// decided.  A gate on rows fails with one of them, and passes if all do.
[[nodiscard]] GateOutcome check_gate(const Gate& gate, const Analysis& analysis);

// "ratio, time_us, ...": for messages and help.
[[nodiscard]] std::string gate_metrics();

}  // namespace inline_prof::join
