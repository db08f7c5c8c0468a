// Tells where in the program a piece of GPU work comes from: the operator that launched it, and the
// layer.
#pragma once

#include "read/torch_trace/trace_events.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::read::torch_trace {

struct Place {
  std::int32_t operation = -1;   // index into TraceEvents::host of the innermost operator; -1: none
  std::int32_t annotation = -1;  // the innermost annotation around it, as of a collective
  std::uint32_t layer = 0;       // in Places::layers
  double launched_us = -1;       // by the host's clock; -1: the trace has no record of the launch
  Tight tight = Tight::kUnknown;  // kYes: the stream still had other work when this was launched
  // From when the launching thread had last waited for the GPU; NaN: it has not.
  double after_wait_us = std::numeric_limits<double>::quiet_NaN();
};

struct Places {
  Names layers;
  std::vector<Place> of_work;  // one for each of TraceEvents::works
  bool has_modules = false;
};

// Layers are paths of modules ("Model_0/Block_3/Linear_7"), else of annotations, else the outermost
// operator.  The backward pass of a layer has the layer's path and ".backward".
[[nodiscard]] Places find_places(const TraceEvents& trace);

// True for the annotation of one step of torch.profiler's schedule; its number goes to `number`.
[[nodiscard]] bool is_profiler_step(const std::string& name, std::int64_t& number);
[[nodiscard]] bool is_of_collective(std::string_view name);

}  // namespace inline_prof::read::torch_trace
