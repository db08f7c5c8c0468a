#pragma once

#include "driver/timeline.hpp"

#include <memory>

namespace simgpu {

// Hands the call to the thread that makes such calls, one after the other: on a real clock not
// before `begin`.  Returns at once.
void start_host_call(const std::shared_ptr<HostCall>& call,
                     const HostClock& clock = HostClock(Settings{}), Nanoseconds begin = 0);

}  // namespace simgpu
