#pragma once

#include "join/rows/row.hpp"
#include "model/each_model.hpp"
#include "model/predictor.hpp"
#include "read/machine.hpp"
#include "read/op.hpp"

#include <memory>
#include <vector>

namespace inline_prof::join {

// The facts of one row before it is predicted; pointers may be null.
struct RowInput {
  const read::Op* op = nullptr;
  const read::Machine* machine = nullptr;
  double blocks = 0;                          // of the launch; 0: not known
  const read::LaunchShape* launch = nullptr;  // of a single kernel
  const read::Neighbours* neighbours = nullptr;
  bool has_other_grids = false;  // samples are of other shapes, too
};

// It reads parameter files when it first needs them, so each thread has its own.
[[nodiscard]] const model::Predictor& predictor_of_this_thread(
    model::Models models, const std::shared_ptr<const model::OwnFamilies>& families = nullptr);

// Returns `rows` with the prediction of each, inner rows first: a region whose inner rows are
// predicted is predicted to take their sum, or not at all if one of them has no prediction.  A
// region without predicted inner rows is predicted from its own op, if it has one.  `published`, if
// it is not null, is asked in the place of `predictor`.
[[nodiscard]] std::vector<Row> predicted_rows(std::vector<Row> rows,
                                              const std::vector<RowInput>& inputs,
                                              const model::Predictor& predictor,
                                              model::EachModel* published = nullptr);

// Fills in Row::by_model where the operation and the machine are known.
void set_by_model(std::vector<Row>& rows, const std::vector<RowInput>& inputs,
                  model::EachModel& models);

// Returns predicted rows with their ratio and verdict: of all files together, because one row of
// many is called slow only if that is more than what chance does to so many.
[[nodiscard]] std::vector<Row> judged_rows(std::vector<Row> rows);

// Which of many tests may be called findings, so that on average at most the share `rate` of all
// findings is chance: with a hundred layers, five would pass at 5 % each without any being slow.
// Y. Benjamini, Y. Hochberg, "Controlling the False Discovery Rate", J. Royal Statistical Society B
// 57(1), 1995: the largest i with p_(i) <= i / n * rate, and all below it.
[[nodiscard]] std::vector<bool> discoveries(const std::vector<double>& p_values, double rate);

}  // namespace inline_prof::join
