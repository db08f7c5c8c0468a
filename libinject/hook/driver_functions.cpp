#include "hook/driver_functions.hpp"

#include "sys/cuda_api.hpp"
#include "sys/original_dlsym.hpp"

#include <dlfcn.h>

namespace inline_prof::hook {

constinit LaunchOriginals launch_originals;
constinit std::array<std::atomic<void*>, kHookedCalls> call_originals;

// A caller of our export would have reached the next library in the order that has the function.
// A library that came in by dlopen(RTLD_LOCAL) stands in no order.
void* find_original(const char* symbol) noexcept {
  void* const next = sys::glibc_dlsym()(RTLD_NEXT, symbol);
  if (next != nullptr) return next;
  dlerror();  // NOLINT(concurrency-mt-unsafe): the application must not find our miss
  return sys::find_loaded(sys::kDriverSoname, symbol);
}

void* resolved(std::atomic<void*>& original, const char* symbol) noexcept {
  void* known = original.load(std::memory_order_relaxed);
  if (known != nullptr) return known;
  void* found = find_original(symbol);
  if (found != nullptr && original.compare_exchange_strong(known, found)) return found;
  return known != nullptr ? known : found;
}

}  // namespace inline_prof::hook
