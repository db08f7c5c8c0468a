// The wrapped functions of cuBLAS, cuBLASLt, cuDNN and NCCL, which tell what the launches inside
// them compute, and the libraries' own functions behind them.
//
// There are two ways to a wrapper.  Either the dynamic linker binds a caller to our export: then
// the real function is the one that this caller would have been bound to, since two copies of a
// library may be loaded.  Or the application calls dlsym: then the real function is what dlsym has
// found, and the pointer that the application gets forwards to that one, whoever calls it.
#pragma once

#include "libraries/call_names.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace inline_prof::libraries {

// A loaded object that has called the export, and the function it is bound to.  Written once,
// `begin` last.
struct CallingObject {
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::uintptr_t> size{0};
  std::atomic<void*> real{nullptr};
};

// The functions that dlsym may find under one name. Two: a program has one copy of a library, or a
// second one that came with a Python package.
inline constexpr std::size_t kCallLookups = 2;

struct LibraryCall {
  const char* symbol;
  VendorLibrary library;
  // Returns the wrapper that forwards to `looked_up[which]`.
  void* (*wrapper)(std::size_t which) noexcept;

  std::array<std::atomic<void*>, kCallLookups> looked_up{};
  // Rarely more than two objects call one function.  A ninth would search at each call.
  std::array<CallingObject, 8> callers{};
};

// A function's index in `library_calls` and in kCallNames.
enum CallIndex : std::size_t {
#define INLINE_PROF_PLACE(name, ...) kPlaceOf_##name,
  INLINE_PROF_CALLS(INLINE_PROF_PLACE)
#undef INLINE_PROF_PLACE
};

extern constinit std::array<LibraryCall, kCallNames.size()> library_calls;

// Finds a call by its exact name; null if it is not wrapped. Takes no lock and does not allocate,
// since the dlsym filter calls it.
[[nodiscard]] LibraryCall* call_by_symbol(const char* symbol) noexcept;

// Returns what dlsym gives the application in place of `real`: a wrapper, or `real` itself if all
// wrappers are taken by other copies of the library.
[[nodiscard]] void* wrap_call(LibraryCall& call, void* real) noexcept;

// Finds the function that a call from `caller` would reach without us: in the object that contains
// `caller` and its dependencies, else in any loaded copy of the library. Null if there is none.
// That library stays loaded from then on.
[[nodiscard]] void* find_original_call(LibraryCall& call, const void* caller) noexcept;

[[nodiscard]] inline void* original_call(LibraryCall& call, const void* caller) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  for (const CallingObject& known : call.callers) {
    const std::uintptr_t begin = known.begin.load(std::memory_order_acquire);
    if (begin == 0) break;
    if (address - begin < known.size.load(std::memory_order_relaxed))
      return known.real.load(std::memory_order_relaxed);
  }
  return find_original_call(call, caller);
}

// Searches the object that contains `caller` and its dependencies. Null if it is not there, with
// the reason in dlerror().
[[nodiscard]] void* find_in_scope_of(const void* caller, const char* symbol) noexcept;

// Returns false for a library whose symbols have no versions; then our export has none either.
[[nodiscard]] inline bool has_version(const LibraryCall& call) noexcept {
  return name_of(call.library).has_versions;
}

// Returns true for an address inside libinline_prof.so.
[[nodiscard]] bool is_ours(const void* address) noexcept;

// Finds another function of the copy of the library that contains `real`; null if it has none.
[[nodiscard]] void* address_beside(void* real, const char* symbol) noexcept;
template <typename Function>
[[nodiscard]] Function* function_beside(void* real, const char* symbol) noexcept {
  return reinterpret_cast<Function*>(address_beside(real, symbol));
}

}  // namespace inline_prof::libraries
