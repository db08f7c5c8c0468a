#pragma once

namespace inline_prof::entry {

// True if libcuda has loaded this library (CUDA_INJECTION64_PATH) and it was not preloaded: our
// wrappers are behind nothing then.
[[nodiscard]] bool came_by_injection() noexcept;

}  // namespace inline_prof::entry
