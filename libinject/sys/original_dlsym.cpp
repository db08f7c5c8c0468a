#include "sys/original_dlsym.hpp"

#include "sys/large_stack.hpp"

#include <atomic>
#include <cstdlib>
#include <dlfcn.h>

// glibc 2.34 moved these from libdl into libc under a new version; the old one is still there and
// is all that an older system has.
#if defined(__x86_64__)
#define INLINE_PROF_DL_VERSION "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define INLINE_PROF_DL_VERSION "GLIBC_2.17"
#else
#error "inline_prof supports x86-64 and aarch64"
#endif

extern "C" void* inline_prof_dlvsym(void* handle, const char* name, const char* version) noexcept;
__asm__(".symver inline_prof_dlvsym, dlvsym@" INLINE_PROF_DL_VERSION);

namespace inline_prof::sys {
namespace {

constinit std::atomic<DlsymFunction> next{nullptr};
constinit std::atomic<DlsymFunction> glibc{nullptr};

void* find_loaded_here(const char* soname, const char* name) noexcept {
  void* library = dlopen(soname, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) {
    dlerror();  // NOLINT(concurrency-mt-unsafe): our failed look-up is not the application's
    return nullptr;
  }
  void* function = glibc_dlsym()(library, name);
  if (function == nullptr) dlerror();  // NOLINT(concurrency-mt-unsafe): nor this one
  dlclose(library);  // releases dlopen's count; the application's own keeps it loaded
  return function;
}

}  // namespace

DlsymFunction glibc_dlsym() noexcept {
  DlsymFunction function = glibc.load(std::memory_order_relaxed);
  if (function != nullptr) return function;
  // Looked up by its version, which only glibc's has.
  function = reinterpret_cast<DlsymFunction>(
      inline_prof_dlvsym(RTLD_NEXT, "dlsym", INLINE_PROF_DL_VERSION));
  if (function == nullptr) std::abort();  // no glibc: nothing in this process could have started
  glibc.store(function, std::memory_order_relaxed);
  return function;
}

DlsymFunction original_dlsym() noexcept {
  DlsymFunction function = next.load(std::memory_order_relaxed);
  if (function != nullptr) return function;
  function = reinterpret_cast<DlsymFunction>(glibc_dlsym()(RTLD_NEXT, "dlsym"));
  if (function == nullptr) function = glibc_dlsym();
  next.store(function, std::memory_order_relaxed);
  return function;
}

// The loader's functions take 4 KiB of stack.
void* find_loaded(const char* soname, const char* name) noexcept {
  void* function = nullptr;
  on_large_stack([&] { function = find_loaded_here(soname, name); });
  return function;
}

}  // namespace inline_prof::sys
