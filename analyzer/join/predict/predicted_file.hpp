#pragma once

#include "join/rows/file_rows.hpp"
#include "join/rows/row.hpp"
#include "model/each_model.hpp"
#include "model/model.hpp"
#include "model/predictor.hpp"
#include "read/isolated.hpp"
#include "read/machine.hpp"
#include "read/op.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace inline_prof::join {

// It reads parameter files when it first needs them, so each thread has its own.
[[nodiscard]] const model::Predictor& predictor_of_this_thread(
    model::Models models, const std::shared_ptr<const model::OwnFamilies>& families = nullptr);

// Returns predicted rows with their ratio and verdict: of all files together, because one row of
// many is called slow only if that is more than what chance does to so many.
[[nodiscard]] std::vector<Row> judged_rows(std::vector<Row> rows);

// Which of many tests may be called findings, so that on average at most the share `rate` of all
// findings is chance: with a hundred layers, five would pass at 5 % each without any being slow.
// Y. Benjamini, Y. Hochberg, "Controlling the False Discovery Rate", J. Royal Statistical Society B
// 57(1), 1995: the largest i with p_(i) <= i / n * rate, and all below it.
[[nodiscard]] std::vector<bool> discoveries(const std::vector<double>& p_values, double rate);

// Times of a run beside those of the same operations alone on the GPU: what makes the difference?

// Measured rows with a known operation, and those of them that were measured alone.
struct IsolatedRows {
  std::size_t with_op = 0;
  std::size_t found = 0;
};

// Fills in Row::isolated where the operation was measured alone.  `ops` are those of the rows, null
// where they are not known.  Rows must have been predicted.
IsolatedRows set_isolated(std::vector<Row>& rows, const std::vector<const read::Op*>& ops,
                          const read::IsolatedTimes& times);

// The second stage: one file's rows with their predictions.
struct PredictOptions {
  std::optional<read::Machine> machine;         // empty: matched for every device
  std::optional<read::IsolatedTimes> isolated;  // operations measured alone on the GPU
  model::Models models = model::Models::kCalibrated;
  std::shared_ptr<model::EachModel> each_model;        // set if `models` is kPublished or kAll
  std::shared_ptr<const model::OwnFamilies> families;  // fitted by the user; null: as shipped
};

struct PredictedFile {
  FileRows measured;  // its rows are predicted; no verdicts yet
  std::set<std::string> machine_ids{};
  std::set<std::string> machine_reasons{};
  std::set<std::string> machine_doubts{};
  IsolatedRows isolated{};  // none without PredictOptions::isolated
};

// `known` are the machines that devices are matched with.
[[nodiscard]] PredictedFile predicted_file(FileRows measured, std::span<const read::Machine> known,
                                           const PredictOptions& options);

}  // namespace inline_prof::join
