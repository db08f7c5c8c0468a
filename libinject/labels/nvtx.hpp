// The application's NVTX ranges: push/pop and start/end, in every form.  Each call is passed on to
// the user's tool, if one is chained behind this library.
#pragma once

#include <array>
#include <atomic>

#define NVTX_NO_IMPL  // only NVTX's types, without the code that its header otherwise brings
#include <nvtx3/nvToolsExt.h>

namespace inline_prof::labels {

// The functions by which NVTX initializes an injected library: version 3's, and that of the older
// shared library.
struct NvtxEntry {
  const char* symbol;
  NvtxInitializeInjectionNvtxFunc_t ours;
  std::atomic<void*> tools{nullptr};  // the same function of the user's tool, once it was looked up
};
extern constinit std::array<NvtxEntry, 2> nvtx_entries;

}  // namespace inline_prof::labels
