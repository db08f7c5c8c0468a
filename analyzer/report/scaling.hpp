// How runs on more and more GPUs compare: the iteration and its layers, a point for each run.
#pragma once

#include "join/analysis.hpp"
#include "report/grid.hpp"
#include "report/plot/chart.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace inline_prof::report {

// Corrected times in an iteration, over the devices of all ranks.
struct LayerTimes {
  double mean_us = 0.0;
  double slowest_us = 0.0;
};

struct ScalingPoint {
  std::string run;  // what the user called it
  std::size_t gpus = 0;
  std::optional<double> iteration_us;
  std::map<std::string, LayerTimes> layers;
};

[[nodiscard]] ScalingPoint scaling_point(std::string run, const join::Analysis& analysis);

// Columns run, gpus, layer ("" for the iteration), mean_us, slowest_us; the layers that take most
// in any run, at most `most_layers` (0: all).
[[nodiscard]] Grid scaling_grid(std::span<const ScalingPoint> points, std::size_t most_layers);

// The same as inline_prof_scaling/1; the layer of the iteration is null, as "" may be a layer's
// name.
[[nodiscard]] std::string scaling_json(std::span<const ScalingPoint> points,
                                       std::size_t most_layers);

// The same as charts over the number of GPUs, or over the runs in their order if that number does
// not tell them apart: one of the iteration, then one of each layer.
[[nodiscard]] std::vector<Chart> scaling_charts(std::span<const ScalingPoint> points,
                                                std::size_t most_layers);

}  // namespace inline_prof::report
