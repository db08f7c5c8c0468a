// What is done around a launch that is looked at.
#pragma once

#include "entry/start.hpp"
#include "hook/guard.hpp"
#include "launch/launch.hpp"

namespace inline_prof::hook {

// Makes the application's call and measures or counts it.  `forward` runs exactly once on every
// path, and its result is returned unchanged.
template <typename Forward>
CUresult observed(const Launch& launch, const Forward& forward) {
  start_once();
  if (!sys::is_on() || cupti_sees_launches.load(std::memory_order_relaxed)) return forward();
  LaunchTicket ticket;
  fenced(launch.api, [&] { ticket = before_launch(launch); });
  const CUresult result = forward();
  if (result != CUDA_SUCCESS && ticket.counted != nullptr) timer::take_back(*ticket.counted);
  if (ticket.kind != LaunchTicket::Kind::kNothing || ticket.is_captured) {
    fenced(launch.api, [&] { after_launch(launch, ticket, result == CUDA_SUCCESS); });
  }
  return result;
}

}  // namespace inline_prof::hook
