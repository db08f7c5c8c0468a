// An allocator's wrapper as heap profilers have it: looks the real one up in its first call.
#include <cstddef>
#include <cstdlib>
#include <dlfcn.h>

namespace {

using Malloc = void* (*)(std::size_t);

Malloc real_malloc() {
  static Malloc real = reinterpret_cast<Malloc>(dlsym(RTLD_NEXT, "malloc"));
  return real;
}

}  // namespace

extern "C" void* malloc(std::size_t size) {
  const Malloc real = real_malloc();
  if (real == nullptr) std::abort();
  return real(size);
}
