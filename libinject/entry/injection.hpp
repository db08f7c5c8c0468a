#pragma once

namespace inline_prof::hook {

// True where libcuda has loaded us (CUDA_INJECTION64_PATH) and nobody preloaded us: our wrappers
// are behind nothing then.
[[nodiscard]] bool came_by_injection() noexcept;

}  // namespace inline_prof::hook
