// The end-to-end time of an iteration on one rank, by the DLRM models:
// docs/models/iteration_published.md.
#pragma once

#include "read/iteration_graph.hpp"

#include <string>

namespace inline_prof::model {

// Microseconds.
struct WalkResult {
  std::string error;   // "KeyError" where a cost is missing, and nothing else holds; else ""
  std::string reason;  // which one
  double end_to_end = 0.0;
  double gpu_active = 0.0;
  double busiest_stream = 0.0;            // kernels alone, on the stream that has most of them
  double exposed_collective_share = 0.0;  // of the end-to-end time

  // Where host and streams are at the end.
  double host = 0.0;
  double compute_stream = 0.0;
  double collective_stream = 0.0;
  double compute_busy = 0.0;
  double collective_busy = 0.0;
  double exposed_collective = 0.0;  // may be negative

  [[nodiscard]] double idle() const { return end_to_end - gpu_active; }
};

// Walks over the operators behind the first mark, in their order; over all of them if there is no
// mark.  Every kernel takes 5 us more than it says.
[[nodiscard]] WalkResult walk(const read::IterationGraph& graph);

}  // namespace inline_prof::model
