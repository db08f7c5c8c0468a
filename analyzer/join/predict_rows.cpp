#include "join/predict_rows.hpp"

#include "join/nesting.hpp"
#include "join/verdict.hpp"
#include "model/roofline.hpp"

#include <inline_prof/op_kind.hpp>

#include <algorithm>

namespace inline_prof::join {
namespace {

constexpr const char* kSumOfChildren = "sum of children";

void predict_from_op(Row& row, const RowInput& input) {
  if (input.op == nullptr) {
    row.reason = "operation not known";
    return;
  }
  if (input.op->kind == op_kind_name(OpKind::kRegion)) {
    row.reason = "region without timed children";
    return;
  }
  if (input.machine == nullptr) {
    row.reason = "machine not known";
    return;
  }
  const model::Outcome outcome = model::predict_roofline(*input.op, *input.machine);
  if (!outcome.prediction) {
    row.reason = outcome.reason;
    return;
  }
  const model::Prediction& prediction = *outcome.prediction;
  row.predicted_us = model::in_microseconds(prediction.time);
  if (prediction.interval90) {
    row.predicted_ci90_us = Interval{model::in_microseconds(prediction.interval90->first),
                                     model::in_microseconds(prediction.interval90->second)};
  }
  row.bound = model::bound_name(prediction.bound);
  row.model = prediction.model;
}

// False if no inner row is predicted, so that the row's own op has to do.
bool predict_from_children(std::vector<Row>& rows, std::size_t i,
                           const std::vector<std::size_t>& children) {
  const auto predicted = static_cast<std::size_t>(
      std::count_if(children.begin(), children.end(),
                    [&](std::size_t child) { return rows[child].predicted_us.has_value(); }));
  if (predicted == 0) return false;
  Row& row = rows[i];
  row.is_sum_of_children = true;
  if (predicted < children.size()) {
    row.reason = fmt::format("{} of {} children without prediction", children.size() - predicted,
                             children.size());
    return true;
  }
  double sum_us = 0.0;
  for (const std::size_t child : children) {
    sum_us += *rows[child].predicted_us * static_cast<double>(rows[child].calls) /
              static_cast<double>(std::max<std::int64_t>(1, row.calls));
  }
  row.predicted_us = sum_us;
  row.model = kSumOfChildren;
  return true;
}

void compare(Row& row) {
  if (!row.predicted_us) {
    row.verdict = fmt::format("no prediction: {}", row.reason);
  } else if (!row.corrected_us) {
    row.verdict = "not measured";
  } else {
    row.ratio = *row.corrected_us / *row.predicted_us;
    row.raw_ratio = *row.raw_us / *row.predicted_us;
    row.verdict = verdict(*row.corrected_us, *row.predicted_us, row.predicted_ci90_us);
  }
}

}  // namespace

void predict_rows(std::vector<Row>& rows, const std::vector<RowInput>& inputs) {
  const auto children = children_of(rows);
  std::vector<std::size_t> inner_first;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].parent) inner_first.push_back(i);
  }
  for (std::size_t next = 0; next < inner_first.size();
       ++next) {  // the list grows: outer rows first
    const auto& inner = children[inner_first[next]];
    inner_first.insert(inner_first.end(), inner.begin(), inner.end());
  }
  std::reverse(inner_first.begin(), inner_first.end());
  for (const std::size_t i : inner_first) {
    if (!predict_from_children(rows, i, children[i])) predict_from_op(rows[i], inputs[i]);
    compare(rows[i]);
  }
}

}  // namespace inline_prof::join
