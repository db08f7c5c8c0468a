// Which kernels a piece of work launches: it is captured into a graph, whose nodes are asked.
#pragma once

#include "measure/gpu.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace inline_prof::measure {

struct LaunchedKernel {
  std::string name;  // as the driver spells it
  std::int64_t blocks = 0;
};

// In the order of the graph's nodes.  Empty where the work cannot be captured, or the driver is too
// old to tell names.
[[nodiscard]] std::vector<LaunchedKernel> launched_kernels(const Work& work, const Gpu& gpu);

// The one that multiplies, if its name says so, else the first; null for none.
[[nodiscard]] const LaunchedKernel* main_kernel(const std::vector<LaunchedKernel>& kernels);

}  // namespace inline_prof::measure
