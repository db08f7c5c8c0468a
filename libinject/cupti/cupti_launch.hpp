// CUPTI's launch callbacks and their parameters.
#pragma once

#include "launch/launch.hpp"

#include <cupti.h>

#include <array>
#include <optional>

namespace inline_prof::hook::cupti {

// The driver's launch functions.  Runtime callbacks stay off: each runtime launch calls one of
// these.
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

// `parameters` are those of this id's callback.  Empty if the id is no kernel launch.
[[nodiscard]] std::optional<Launch> launch_of(CUpti_CallbackId id, const void* parameters) noexcept;

}  // namespace inline_prof::hook::cupti
