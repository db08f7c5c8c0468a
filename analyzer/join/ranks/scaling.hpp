// How runs on more and more GPUs compare: the iteration and its layers, a point for each run.
#pragma once

#include "join/analysis.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace inline_prof::join {

// Corrected times in an iteration, over the devices of all ranks.
struct LayerTimes {
  double mean_us = 0.0;
  double slowest_us = 0.0;
};

struct ScalingPoint {
  std::string run;  // what the user called it
  std::size_t gpus = 0;
  bool is_simulated = false;
  std::optional<double> iteration_us;
  std::map<std::string, LayerTimes> layers;
};

[[nodiscard]] ScalingPoint scaling_point(std::string run, const Analysis& analysis);

// The layers that take most in any run, at most `most` (0: all).
[[nodiscard]] std::vector<std::string> largest_layers(std::span<const ScalingPoint> points,
                                                      std::size_t most);

// The times of a layer in one run, or of the iteration if there is no layer ("" may be a name).
struct ScalingTime {
  const ScalingPoint* point = nullptr;
  std::optional<std::string> layer;
  LayerTimes times;
};

// The iterations of all runs, then the largest layers, each in all runs.
[[nodiscard]] std::vector<ScalingTime> scaling_times(std::span<const ScalingPoint> points,
                                                     std::size_t most_layers);

}  // namespace inline_prof::join
