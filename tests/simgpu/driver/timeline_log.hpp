// SIMGPU_TIMELINE: a line for each kernel, copy and fill that the device has done, launched
// directly or in a graph.
#pragma once

#include "driver/context.hpp"
#include "driver/graph.hpp"
#include "driver/timeline.hpp"

#include <string_view>

namespace inline_prof::simgpu {

// Who asked for the work, as far as the work itself does not know it.
struct TimelineOrigin {
  int thread = 0;                    // of the call; the kernel's number for it
  const NodePlace* place = nullptr;  // in a graph, else null
};

// The thread that makes this call.
[[nodiscard]] int this_thread();

// `kind` is "kernel", "copy" or "fill"; `name` a kernel's mangled name, else "".
void log_timeline(const Stream& stream, std::string_view kind, std::string_view name,
                  const TimelineOrigin& origin, Nanoseconds begin, Nanoseconds end);

}  // namespace inline_prof::simgpu
