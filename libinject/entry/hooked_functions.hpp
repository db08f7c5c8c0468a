// The driver functions that the application gets from us instead of from libcuda.
//
// Three doors lead here: dlsym (dlsym_filter.cpp), cuGetProcAddress (proc_address.cpp), and the
// dynamic linker, which binds programs linked with -lcuda to our exported symbols.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace inline_prof::hook {

// One driver function.  `wrapper` forwards to `*real`.
struct HookedFunction {
  const char* symbol;  // as exported by libcuda: "cuCtxCreate_v2"
  const char* name;    // as asked of cuGetProcAddress: "cuCtxCreate"
  int version;         // the CUDA version that brought this form: 3020
  bool per_thread;     // the _ptsz form: a null stream is the per-thread default stream
  void* wrapper;
  std::atomic<void*>* real;
  // Where the driver hands out a second address under the same name: another copy of the wrapper
  // with a `real` of its own.  Null where one is enough.
  void* spare_wrapper;
  std::atomic<void*>* spare_original;
};

// By the exact symbol name, null for every other name.  Exact, because a match on the prefix "cu"
// would catch cudnnCreate, too.  No allocation, no lock: libraries ask from their constructors.
[[nodiscard]] const HookedFunction* hooked_by_symbol(const char* symbol) noexcept;

// As cuGetProcAddress chooses: the newest form that is not newer than `version`.
[[nodiscard]] const HookedFunction* hooked_by_request(const char* name, int version,
                                                      std::uint64_t flags) noexcept;

// Some names stand for functions with other arguments since a later version (cuGraphInstantiate is
// cuGraphInstantiateWithFlags for programs built with CUDA 12).  The entry whose symbol is at
// `real`, among those whose name begins like `likely`; `likely` where there is none.
[[nodiscard]] const HookedFunction* hooked_by_address(const HookedFunction& likely,
                                                      const void* real) noexcept;

// Remembers that `real` is the driver's function behind `hooked`, and returns what the application
// gets.
[[nodiscard]] void* wrap(const HookedFunction& hooked, void* real) noexcept;

// For a program that calls our exported symbol and never asked for an address: looks the driver's
// function up.  Null where libcuda is not loaded or lacks it.
[[nodiscard]] void* find_original(const char* symbol) noexcept;

// True for an address inside libcuda: the driver's own look-ups are never answered by us.
[[nodiscard]] bool is_inside_driver(const void* address) noexcept;

// Driver functions that were handed to the application unwrapped because both addresses were taken.
[[nodiscard]] unsigned long unwrapped_count() noexcept;

}  // namespace inline_prof::hook
