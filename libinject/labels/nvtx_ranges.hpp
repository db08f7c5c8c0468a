// What NVTX calls of the application do: push/pop and start/end, in every form.  Each one also goes
// to a tool of the user's that stands behind us.
#pragma once

#include "labels/nvtx_api.hpp"

#include <array>
#include <atomic>
#include <cstddef>

namespace inline_prof::hook {

// A function of NVTX that we take part in.
struct NvtxFunction {
  NvtxCallbackModule module;
  unsigned id;  // NvtxCallbackIdCore or NvtxCallbackIdCore2
  NvtxFunctionPointer ours;
};
inline constexpr std::size_t kNvtxFunctions = 16;
[[nodiscard]] const std::array<NvtxFunction, kNvtxFunctions>& nvtx_functions() noexcept;

// The tool's function behind ours, by the place in nvtx_functions(); null where there is none.
extern constinit std::array<std::atomic<NvtxFunctionPointer>, kNvtxFunctions> nvtx_tools_functions;
extern constinit std::atomic<bool> has_nvtx_tool;

}  // namespace inline_prof::hook
