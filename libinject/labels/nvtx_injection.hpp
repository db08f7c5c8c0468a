// How NVTX finds this library, and how a tool of the user is chained behind it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

namespace inline_prof::labels {

// The functions by which NVTX initializes an injected library: version 3's, and that of the older
// shared library.
struct NvtxEntry {
  const char* symbol;
  std::atomic<void*> tools{nullptr};  // the same function of the user's tool, once it was looked up
};
extern constinit std::array<NvtxEntry, 2> nvtx_entries;

// Returns null for other names.  Takes no lock and does not allocate: the dlsym filter calls it.
[[nodiscard]] NvtxEntry* nvtx_entry(const char* symbol) noexcept;

// Returns what NVTX gets in place of `real`, the function of the tool that it has loaded: ours,
// which then calls `real`; or `real` itself if another tool is chained already.
[[nodiscard]] void* wrap_nvtx_entry(NvtxEntry& entry, void* real) noexcept;

}  // namespace inline_prof::labels
