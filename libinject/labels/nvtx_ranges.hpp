// The application's NVTX calls: push/pop and start/end, in every form.  Each call is passed on to
// the user's tool, if one is chained.
#pragma once

#include "labels/nvtx_api.hpp"

#include <array>
#include <atomic>
#include <cstddef>

namespace inline_prof::labels {

// A function of NVTX that we implement.
struct NvtxFunction {
  NvtxCallbackModule module;
  unsigned id;  // NvtxCallbackIdCore or NvtxCallbackIdCore2
  NvtxFunctionPointer ours;
};
inline constexpr std::size_t kNvtxFunctions = 16;
[[nodiscard]] const std::array<NvtxFunction, kNvtxFunctions>& nvtx_functions() noexcept;

// The chained tool's functions, indexed as nvtx_functions(); null if there is none.
extern constinit std::array<std::atomic<NvtxFunctionPointer>, kNvtxFunctions> nvtx_tools_functions;
extern constinit std::atomic<bool> has_nvtx_tool;

}  // namespace inline_prof::labels
