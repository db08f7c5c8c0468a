// Conditions that a run has to meet: "ratio<1.3", "iteration_ms<=12".
#pragma once

#include "join/analysis.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::join {

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
