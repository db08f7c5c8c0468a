// The part of our dlsym that is not assembly: which names are ours, and what the host gets for
// them.
#include "hook/hooked_functions.hpp"
#include "sys/real_dlsym.hpp"

#include <dlfcn.h>

namespace inline_prof::hook {
namespace {

// Returned in two registers.  `jump` null: `result` is the answer.  Else the trampoline jumps there
// with the host's own arguments and return address.
struct FilterAnswer {
  void* result;
  void* jump;
};

FilterAnswer pass_on() noexcept {
  return {.result = nullptr, .jump = reinterpret_cast<void*>(sys::real_dlsym())};
}

}  // namespace

// Runs before any constructor of ours, and inside other libraries' constructors: no allocation, no
// lock, no guard.
extern "C" [[gnu::visibility("hidden")]] FilterAnswer inline_prof_dlsym_filter(
    void* handle, const char* name) noexcept {
  const HookedFunction* hooked = hooked_by_symbol(name);
  if (hooked == nullptr) return pass_on();

  if (handle == RTLD_DEFAULT || handle == RTLD_NEXT) {
    // Our own export would answer even where the host has no driver in its global scope, and a
    // probe must see what it would have seen without us.  cuInit is a name we do not export: where
    // it is missed, so is this one, with dlerror() set by glibc itself.
    void* driver = sys::real_dlsym()(RTLD_DEFAULT, "cuInit");
    if (driver == nullptr) return {.result = nullptr, .jump = nullptr};
    return pass_on();
  }

  void* real = sys::real_dlsym()(handle, name);
  return {.result = wrap(*hooked, real), .jump = nullptr};
}

}  // namespace inline_prof::hook
