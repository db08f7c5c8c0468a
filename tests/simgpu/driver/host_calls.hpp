#pragma once

#include "driver/timeline.hpp"

#include <memory>

namespace inline_prof::simgpu {

// Hands the call to the thread that makes such calls, one after the other.  Returns at once.
void start_host_call(const std::shared_ptr<HostCall>& call);

}  // namespace inline_prof::simgpu
