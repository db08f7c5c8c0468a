// The part of our dlsym that is not assembly: which names are ours, and what the application gets
// for them.
#include "entry/hooked_functions.hpp"
#include "labels/nvtx_injection.hpp"
#include "libraries/library_calls.hpp"
#include "sys/original_dlsym.hpp"

#include <dlfcn.h>

namespace inline_prof::hook {
namespace {

// Returned in two registers.  `jump` null: `result` is the answer.  Else the trampoline jumps there
// with the application's own arguments and return address.
struct FilterAnswer {
  void* result;
  void* jump;
};

FilterAnswer pass_on() noexcept {
  return {.result = nullptr, .jump = reinterpret_cast<void*>(sys::original_dlsym())};
}

// The main program's handle stands for the global scope, in which we come before everybody.
bool is_main_program(void* handle) noexcept {
  void* self = dlopen(nullptr, RTLD_LAZY | RTLD_NOLOAD);
  if (self != nullptr) dlclose(self);
  return handle == self;
}

// Our own export would answer for the global scope: what stands behind us there counts.
FilterAnswer find_nvtx_entry(NvtxEntry& entry, void* handle) noexcept {
  const bool is_global = handle == RTLD_DEFAULT || handle == RTLD_NEXT || is_main_program(handle);
  void* real = sys::original_dlsym()(is_global ? RTLD_NEXT : handle, entry.symbol);
  return {.result = is_global ? real : wrap_nvtx_entry(entry, real), .jump = nullptr};
}

// Of a vendor's library.  An export of ours with a version answers no look-up by name, so glibc's
// own answer is what the application would have got; one without does, and is looked past.
FilterAnswer find_call(LibraryCall& call, void* handle, const void* caller) noexcept {
  const auto original_dlsym = sys::original_dlsym();
  if (handle == RTLD_NEXT) {
    // A caller before us in the order, or one that interposes as we do: what it gets is its own
    // affair, but for our export where there is nothing else.
    if (has_version(call) || original_dlsym(RTLD_NEXT, call.symbol) != nullptr) return pass_on();
    return {.result = nullptr, .jump = nullptr};
  }
  void* real = original_dlsym(handle, call.symbol);
  if (is_ours(real)) real = original_dlsym(RTLD_NEXT, call.symbol);
  // The scope of a library that came in by RTLD_LOCAL is its own.
  if (real == nullptr && handle == RTLD_DEFAULT) real = find_in_scope_of(caller, call.symbol);
  if (real != nullptr) return {.result = wrap_call(call, real), .jump = nullptr};
  // The application's own miss, with glibc's words for dlerror().
  if (has_version(call)) return pass_on();
  return {.result = original_dlsym(RTLD_NEXT, call.symbol), .jump = nullptr};
}

}  // namespace

// Runs before any constructor of ours, and inside other libraries' constructors: no allocation, no
// lock, no guard.
extern "C" [[gnu::visibility("hidden")]] FilterAnswer inline_prof_dlsym_filter(
    void* handle, const char* name, const void* caller) noexcept {
  const HookedFunction* hooked = hooked_by_symbol(name);
  if (hooked == nullptr) {
    if (LibraryCall* call = call_by_symbol(name)) return find_call(*call, handle, caller);
    if (NvtxEntry* entry = nvtx_entry(name)) return find_nvtx_entry(*entry, handle);
    return pass_on();
  }

  if (handle == RTLD_DEFAULT || handle == RTLD_NEXT) {
    // Our own export would answer even where the application has no driver in its global scope, and
    // a probe must see what it would have seen without us.  cuInit is a name we do not export:
    // where it is missed, so is this one, with dlerror() set by glibc itself.
    void* driver = sys::original_dlsym()(RTLD_DEFAULT, "cuInit");
    if (driver == nullptr) return {.result = nullptr, .jump = nullptr};
    return pass_on();
  }

  void* real = sys::original_dlsym()(handle, name);
  return {.result = wrap(*hooked, real), .jump = nullptr};
}

}  // namespace inline_prof::hook
