// How NVTX finds us, and a tool of the user's behind us.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

namespace inline_prof::hook {

// The entries by which NVTX asks a library to take part: version 3, and the older library's.
struct NvtxEntry {
  const char* symbol;
  std::atomic<void*> tools{nullptr};  // the user's tool's entry, where one was looked up
};
extern constinit std::array<NvtxEntry, 2> nvtx_entries;

// Null for every other name.  As the dlsym filter needs it: no allocation, no lock.
[[nodiscard]] NvtxEntry* nvtx_entry(const char* symbol) noexcept;

// What the application gets for the entry `real` of the library that NVTX has loaded: ours, which
// then calls `real`; or `real` itself where another tool stands behind us already.
[[nodiscard]] void* wrap_nvtx_entry(NvtxEntry& entry, void* real) noexcept;

}  // namespace inline_prof::hook
