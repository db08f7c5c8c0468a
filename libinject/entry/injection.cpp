// CUDA_INJECTION64_PATH: libcuda loads the library named there when it is initialised, and calls
// this (CUPTI 13.0 User Guide, "Injection").
#include "entry/injection.hpp"

#include "hook/export.hpp"
#include "hook/start.hpp"
#include "sys/original_dlsym.hpp"

#include <atomic>
#include <dlfcn.h>
#include <sys/auxv.h>

INLINE_PROF_EXPORT int InitializeInjection();

namespace inline_prof::entry {
namespace {

constinit std::atomic<bool> injected{false};

// Such a program must not write files that its caller names. A program may define getauxval: the
// one behind us is glibc's.
bool is_set_user_id() noexcept {
  const auto value_of =
      reinterpret_cast<decltype(&getauxval)>(sys::glibc_dlsym()(RTLD_NEXT, "getauxval"));
  return value_of != nullptr && value_of(AT_SECURE) != 0;
}

// Preloaded libraries stand in the scope of the program itself, a library that libcuda loads does
// not.
bool is_preloaded() noexcept {
  void* program = dlopen(nullptr, RTLD_LAZY);
  if (program == nullptr) return false;
  void* found = sys::glibc_dlsym()(program, "InitializeInjection");
  if (found == nullptr)
    dlerror();  // NOLINT(concurrency-mt-unsafe): the application must not find our miss
  dlclose(program);
  return found == reinterpret_cast<void*>(&InitializeInjection);
}

}  // namespace

bool came_by_injection() noexcept {
  return injected.load(std::memory_order_relaxed);
}

}  // namespace inline_prof::entry

// Returns 1, as tools do.
int InitializeInjection() {
  using namespace inline_prof;
  if (entry::is_set_user_id()) return 1;
  if (entry::is_preloaded()) return 1;  // the wrappers see everything
  entry::injected.store(true, std::memory_order_relaxed);
  hook::start_once();
  return 1;
}
