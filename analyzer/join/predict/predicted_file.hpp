// The second stage: one file's rows with their predictions.
#pragma once

#include "join/predict/isolate.hpp"
#include "join/predict/peer.hpp"
#include "join/rows/file_rows.hpp"
#include "model/each_model.hpp"
#include "model/model.hpp"
#include "model/predictor.hpp"
#include "read/isolated.hpp"
#include "read/machine.hpp"

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>

namespace inline_prof::join {

struct PredictOptions {
  std::optional<read::Machine> machine;         // empty: matched for every device
  std::optional<read::IsolatedTimes> isolated;  // operations measured alone on the GPU
  model::Models models = model::Models::kCalibrated;
  std::shared_ptr<model::EachModel> each_model;        // set if `models` is kPublished or kAll
  std::shared_ptr<const model::OwnFamilies> families;  // fitted by the user; null: as shipped
  std::shared_ptr<Peer> peer;                          // whose estimates stand beside ours, if set
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
