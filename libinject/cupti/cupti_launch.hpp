// CUPTI's launch callbacks and their parameters.
#pragma once

#include "hook/driver_functions.hpp"
#include "hook/launch.hpp"

#include <cupti.h>

#include <array>
#include <optional>

namespace inline_prof::cupti {

// The driver's launch functions.  Runtime callbacks stay off: each runtime launch calls one of
// these.
inline constexpr auto kLaunchIds = std::to_array<CUpti_CallbackId>({
#define INLINE_PROF_CALLBACK_ID(symbol, ...) CUPTI_DRIVER_TRACE_CBID_##symbol,
    INLINE_PROF_HOOKED_LAUNCHES(INLINE_PROF_CALLBACK_ID)
#undef INLINE_PROF_CALLBACK_ID
});

[[nodiscard]] constexpr bool is_graph_launch(CUpti_CallbackId id) noexcept {
  return id == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch ||
         id == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz;
}

// `parameters` are those of this id's callback.  Empty if the id is no kernel launch.
[[nodiscard]] std::optional<hook::Launch> launch_of(CUpti_CallbackId id,
                                                    const void* parameters) noexcept;

}  // namespace inline_prof::cupti
