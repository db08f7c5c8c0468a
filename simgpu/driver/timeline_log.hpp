// SIMGPU_TIMELINE: a line for each kernel, copy and fill that the device has done, launched
// directly or in a graph.
#pragma once

#include "driver/context.hpp"
#include "driver/graph.hpp"
#include "driver/timeline.hpp"

#include <string_view>

namespace simgpu {

// When the calling thread last came back from waiting for a device.
inline thread_local Nanoseconds wait_ended = 0;

// `kind` is "kernel", "copy" or "fill"; `name` a kernel's mangled name, else ""; `place` is null
// outside graphs.
void log_timeline(const Stream& stream, std::string_view kind, std::string_view name,
                  const CallOrigin& origin, const NodePlace* place, Nanoseconds begin,
                  Nanoseconds end);

}  // namespace simgpu
