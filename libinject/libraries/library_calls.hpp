// The wrapped vendor functions ("words": they say what the launches inside are), and the real ones
// behind them.
//
// A host reaches a wrapper in two ways.  Its linker finds our export: then the real function is the
// one that this caller would have reached, since two copies of a library may be loaded.  Or it asks
// dlsym: then the real function is what dlsym found, and the pointer that the application gets
// leads to that one, whoever calls it.
#pragma once

#include "libraries/call_names.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace inline_prof::hook {

// An object that has called the export, and whom it reaches.  Written once; `begin` last.
struct CallingObject {
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::uintptr_t> size{0};
  std::atomic<void*> real{nullptr};
};

// Real functions behind pointers from dlsym.  Two: a program has one copy of a library, or, with
// Python packages that bring their own, a second.
inline constexpr std::size_t kCallLookups = 2;

struct LibraryCall {
  const char* symbol;
  VendorLibrary library;
  // The wrapper that forwards to `looked_up[which]`.
  void* (*wrapper)(std::size_t which) noexcept;

  std::array<std::atomic<void*>, kCallLookups> looked_up{};
  // Eight objects with calls of one function are many; the ninth looks its own up at each call.
  std::array<CallingObject, 8> callers{};
};

// A word's place in `words` and in kCallNames.
enum CallIndex : std::size_t {
#define INLINE_PROF_PLACE(name, ...) kPlaceOf_##name,
  INLINE_PROF_CALLS(INLINE_PROF_PLACE)
#undef INLINE_PROF_PLACE
};

extern constinit std::array<LibraryCall, kCallNames.size()> library_calls;

// By the exact name; null for every other one.  As the dlsym filter needs it: no allocation, no
// lock.
[[nodiscard]] LibraryCall* call_by_symbol(const char* symbol) noexcept;

// What the application gets for `real`, which dlsym found: a wrapper, or `real` itself where all
// wrappers stand for other copies of the library.
[[nodiscard]] void* wrap_call(LibraryCall& call, void* real) noexcept;

// The function that a call from `caller` would reach without us: in the object that holds `caller`
// and what that was linked with, else in any copy of the library that is loaded; null where there
// is none.  The library that it comes from stays loaded from then on.
[[nodiscard]] void* find_original_call(LibraryCall& call, const void* caller) noexcept;

[[nodiscard]] inline void* original_call(LibraryCall& call, const void* caller) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  for (const CallingObject& known : call.callers) {
    const std::uintptr_t begin = known.begin.load(std::memory_order_acquire);
    if (begin == 0) break;
    if (address - begin < known.size.load(std::memory_order_relaxed)) {
      return known.real.load(std::memory_order_relaxed);
    }
  }
  return find_original_call(call, caller);
}

// In the object that holds `caller` and what that was linked with; null where it is not there, with
// the reason in dlerror().
[[nodiscard]] void* find_in_scope_of(const void* caller, const char* symbol) noexcept;

// False for the functions of a library whose symbols have no versions: then our export has none.
[[nodiscard]] inline bool has_version(const LibraryCall& call) noexcept {
  return name_of(call.library).has_versions;
}

// True for an address in this library.
[[nodiscard]] bool is_ours(const void* address) noexcept;

// Another function of the library that `real` comes from, such as a getter; null where it has none.
[[nodiscard]] void* function_beside(void* real, const char* symbol) noexcept;

}  // namespace inline_prof::hook
