// Everything that the DLRM models say about the iterations of a trace:
// docs/models/iteration_published.md.
#pragma once

#include "model/published/dlrm/event_tree.hpp"
#include "model/published/dlrm/operators.hpp"
#include "model/published/dlrm/overheads.hpp"
#include "model/published/dlrm/walk.hpp"

#include <string>
#include <vector>

namespace inline_prof::model {

enum class KernelTimes { kPredicted, kMeasured };

struct TraceIteration {
  EventTree tree;
  StreamTimes streams;
  Overheads costs;
  // One for each of tree.operators.
  std::vector<OperatorKernels> predicted;
  double total_us = 0.0;                     // of all predicted kernels, one after the other
  std::vector<read::IterationGraph> graphs;  // one for each iteration, as the next
  std::vector<WalkResult> walks;
  WalkResult mean;  // of them
};

// The result refers to `trace`.  Throws read::InputError.
[[nodiscard]] TraceIteration trace_iteration(const read::Trace& trace, std::size_t iterations,
                                             KernelTimes kernels, const OperatorModels& models);

}  // namespace inline_prof::model
