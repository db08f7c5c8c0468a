// How runs on more and more GPUs compare, as a grid and as charts.
#pragma once

#include "join/scaling.hpp"
#include "report/grid.hpp"
#include "report/plot/chart.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace inline_prof::report {

// Columns run, gpus, layer ("" for the iteration), mean_us, slowest_us; the layers that take most
// in any run, at most `most_layers` (0: all).
[[nodiscard]] Grid scaling_grid(std::span<const join::ScalingPoint> points,
                                std::size_t most_layers);

// The same as charts over the number of GPUs, or over the runs in their order if that number does
// not tell them apart: one of the iteration, then one of each layer.
[[nodiscard]] std::vector<Chart> scaling_charts(std::span<const join::ScalingPoint> points,
                                                std::size_t most_layers);

}  // namespace inline_prof::report
