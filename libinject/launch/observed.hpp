// A launch that is examined.
#pragma once

#include "hook/observer.hpp"
#include "hook/start.hpp"
#include "launch/launch_filter.hpp"

namespace inline_prof::launch {

// Makes the application's call and measures or counts it.  `forward` runs exactly once on every
// path, and its result is returned unchanged.
template <typename Forward>
CUresult observed(const hook::Launch& launch, const Forward& forward) {
  hook::start_once();
  if (!sys::is_on() || filter.is_left_to_cupti()) return forward();
  hook::LaunchTicket ticket;
  hook::report(launch.api,
               [&](hook::Observer& session) { ticket = session.before_launch(launch); });
  const CUresult result = forward();
  if (result != CUDA_SUCCESS && ticket.counted != nullptr) timer::take_back(*ticket.counted);
  if (ticket.has_end()) {
    hook::report(launch.api, [&](hook::Observer& session) {
      session.after_launch(launch, ticket, result == CUDA_SUCCESS);
    });
  }
  return result;
}

}  // namespace inline_prof::launch
