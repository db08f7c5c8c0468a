// Measured times and predictions, side by side.
#pragma once

#include "join/analysis.hpp"
#include "join/event_bias.hpp"
#include "model/table_model.hpp"
#include "read/isolated.hpp"
#include "read/layers.hpp"
#include "read/machine.hpp"

#include <optional>
#include <span>
#include <vector>

namespace inline_prof::join {

enum class Statistic { kMedian, kMean, kMin };

struct JoinOptions {
  std::optional<read::Machine> machine;  // empty: matched for every device
  std::optional<read::Layers> layers;
  std::optional<read::IsolatedTimes> isolated;  // operations measured alone on the GPU
  BiasSetting event_bias;
  Statistic statistic = Statistic::kMedian;
  model::Mode mode = model::Mode::kImproved;  // kCompat: the plain roofline for everything
  bool keep_samples = false;                  // fill Analysis::samples_us
};

// `known` are the machines that devices are matched with.
[[nodiscard]] Analysis join_profiles(std::vector<read::Profile> profiles,
                                     std::span<const read::Machine> known,
                                     const JoinOptions& options);

}  // namespace inline_prof::join
