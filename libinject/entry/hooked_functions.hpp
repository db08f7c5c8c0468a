// The driver functions that the application gets from us instead of from libcuda.
//
// There are three entry points: dlsym (dlsym_filter.cpp), cuGetProcAddress (proc_address.cpp), and
// the dynamic linker, which binds programs linked with -lcuda to our exported symbols.
#pragma once

#include <atomic>
#include <cstdint>

namespace inline_prof::entry {

// One driver function.  `wrapper` forwards to `*real`.
struct HookedFunction {
  const char* symbol;  // as exported by libcuda: "cuCtxCreate_v2"
  const char* name;    // as asked of cuGetProcAddress: "cuCtxCreate"
  int version;         // the CUDA version that brought this form: 3020
  bool per_thread;     // the _ptsz form: a null stream is the per-thread default stream
  void* wrapper;
  std::atomic<void*>* real;
  // A second copy of the wrapper with its own `real`, for functions of which the driver may hand
  // out two addresses under one name.  Null for all others.
  void* spare_wrapper;
  std::atomic<void*>* spare_original;
};

// By exact symbol name; null if it is not wrapped.  Takes no lock and does not allocate, since
// libraries call dlsym from their constructors.
[[nodiscard]] const HookedFunction* hooked_by_symbol(const char* symbol) noexcept;

// Chooses as cuGetProcAddress does: the newest form that is not newer than `version`.
[[nodiscard]] const HookedFunction* hooked_by_request(const char* name, int version,
                                                      std::uint64_t flags) noexcept;

// Some names mean a function with other parameters since a later version (cuGraphInstantiate is
// cuGraphInstantiateWithFlags for programs built with CUDA 12).  Returns the entry whose symbol is
// at `real`, among those whose symbol begins with the name of `likely`; `likely` if there is none.
// Returns null if `real` is a form of the function that is not in the list, as a newer driver may
// have: its parameters are not known.
[[nodiscard]] const HookedFunction* hooked_by_address(const HookedFunction& likely,
                                                      const void* real) noexcept;

// Stores `real` as the driver's function behind `hooked`.  Returns the address for the application:
// a wrapper, or `real` if both wrappers are taken.
[[nodiscard]] void* wrap(const HookedFunction& hooked, void* real) noexcept;

// True for an address inside libcuda.  The driver's own look-ups are left alone.
[[nodiscard]] bool is_inside_driver(const void* address) noexcept;

}  // namespace inline_prof::entry
