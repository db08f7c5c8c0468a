// What the host adds to an iteration, T1 to T5 of the DLRM models, from a trace:
// docs/models/iteration_published.md.
#pragma once

#include "model/published/dlrm/event_tree.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace inline_prof::model {

// What the profiler itself adds, in microseconds.
inline constexpr double kHostEventUs = 2.0;
inline constexpr double kGpuEventUs = 4.0;
inline constexpr double kKernelUs = 5.0;
inline constexpr double kLaunchUs = 10.0;

// Of samples without negative ones and without outliers; std is that of the population.
struct Spread {
  double mean = 0.0;
  double std = 0.0;
  std::size_t count = 0;
};

// By the operator's name and shapes.
using ByShape = std::map<std::string, std::map<std::string, Spread>>;

struct Overheads {
  Spread between;  // T1: from an operator to the next one
  ByShape before;  // T2: from the start of an operator to its first launch
  ByShape after;   // T3: from its last launch to its end
  ByShape among;   // T5: from a launch to the next; the whole operator, if it launches nothing
  std::map<std::string, Spread> launch;                      // T4: in the call, by the call's name
  std::map<std::string, std::vector<std::string>> launches;  // the calls of an operator, once
};

[[nodiscard]] Overheads overheads(const EventTree& tree);

// The means by operator alone, over all shapes: each shape's, weighed by its samples.
[[nodiscard]] std::map<std::string, double> means(const ByShape& spreads);

// The calls below `op` that start something on the GPU or wait for it, in their order.
[[nodiscard]] std::vector<NodeId> launches_of(const EventTree& tree, NodeId op);

}  // namespace inline_prof::model
