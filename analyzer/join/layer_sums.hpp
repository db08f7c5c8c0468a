#pragma once

#include "join/analysis.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::join {

// The time that the rows of one layer take together in an iteration, mean over devices.
struct LayerSum {
  std::string layer;                    // "" for events without one
  std::vector<std::size_t> rows;        // indices into Analysis::merged, in order of their start
  std::vector<std::size_t> outer_rows;  // of these, those that no other row of the layer encloses
  std::optional<double> time_us;        // corrected, of the outer rows that have a time
  std::optional<double> share_percent;
  // Sums over the largest rows that are both measured and predicted, so that the two can be
  // compared; without what was waited for other ranks:
  std::optional<double> compared_us;
  std::optional<double> predicted_us;
  std::optional<double> ratio;  // compared / predicted
};

// The layers in order of their first start.
[[nodiscard]] std::vector<LayerSum> layer_sums(const Analysis& analysis);

}  // namespace inline_prof::join
