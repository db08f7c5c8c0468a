// CUPTI's callbacks of launches, and what they say.
#pragma once

#include "launch/launch.hpp"

#include <cupti.h>

#include <array>
#include <optional>

namespace inline_prof::hook::cupti {

// The driver's ways to launch.  Runtime callbacks are left off: each of those launches comes by
// here as well.
inline constexpr std::array<CUpti_CallbackId, 8> kLaunchIds{
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
};

[[nodiscard]] constexpr bool is_graph_launch(CUpti_CallbackId id) noexcept {
  return id == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch ||
         id == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz;
}

// `parameters` as the callback of this id has them.  Nothing for an id that is no kernel launch.
[[nodiscard]] std::optional<Launch> launch_of(CUpti_CallbackId id, const void* parameters) noexcept;

}  // namespace inline_prof::hook::cupti
