#include "join/predict/isolate.hpp"

#include <algorithm>
#include <string_view>

namespace inline_prof::join {
namespace {

// Two measurements of one thing differ by so much from process to process; less is no finding.
constexpr double kSame = 0.05;
// A prediction without an interval is right if it is no further off than this.
constexpr double kGoodPrediction = 0.1;

bool is_longer(double time_us, double other_us) {
  return time_us > other_us * (1 + kSame);
}

// Why the run's time is another than that of the operation alone.
std::string_view cause_in_the_run(const Row& row, const Isolated& alone) {
  const Interval in_run = row.raw_ci95_us ? Interval{row.raw_ci95_us->lower - row.bias_us,
                                                     row.raw_ci95_us->upper - row.bias_us}
                                          : Interval{*row.corrected_us, *row.corrected_us};
  const bool is_slower = is_longer(in_run.lower, alone.alone_ci95_us.upper);
  const bool is_faster = is_longer(alone.alone_ci95_us.lower, in_run.upper);
  if (!is_slower && !is_faster) return "";
  if (alone.is_stand_in) return "another kernel was measured alone";
  const bool know_both = !row.kernel_name.empty() && !alone.kernel_name.empty();
  if (know_both && row.kernel_name.str() != alone.kernel_name) return "kernel choice";
  return is_slower ? "contention or clock" : "warmer cache or clock";
}

bool is_predicted_wrongly(const Row& row, const Isolated& alone) {
  if (!row.predicted_us || alone.is_stand_in) return false;
  const Interval right = row.predicted_ci90_us
                             ? *row.predicted_ci90_us
                             : Interval{*row.predicted_us * (1 - kGoodPrediction),
                                        *row.predicted_us * (1 + kGoodPrediction)};
  return alone.alone_ci95_us.upper < right.lower || alone.alone_ci95_us.lower > right.upper;
}

std::string cause_of(const Row& row, const Isolated& alone) {
  std::string cause(cause_in_the_run(row, alone));
  if (is_predicted_wrongly(row, alone)) cause += cause.empty() ? "model" : "; model";
  return cause.empty() ? "none: as alone" : cause;
}

}  // namespace

IsolatedRows set_isolated(std::vector<Row>& rows, const std::vector<const read::Op*>& ops,
                          const read::IsolatedTimes& times) {
  IsolatedRows counts;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Row& row = rows[i];
    if (ops[i] == nullptr || !row.corrected_us) continue;
    ++counts.with_op;
    const auto found = times.rows.find(read::op_text(*ops[i]));
    if (found == times.rows.end()) continue;
    ++counts.found;
    Isolated alone{.alone_us = found->second.time_us,
                   .alone_ci95_us = {found->second.lower_us, found->second.upper_us},
                   .kernel_name = found->second.kernel_name,
                   .is_stand_in = found->second.is_stand_in,
                   .cause = {}};
    alone.cause = cause_of(row, alone);
    row.isolated = std::move(alone);
  }
  return counts;
}

}  // namespace inline_prof::join
