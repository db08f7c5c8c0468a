// The part of our dlsym that is not assembly: which names are wrapped, and what the application
// gets for them.
#include "entry/hooked_functions.hpp"
#include "labels/nvtx.hpp"
#include "libraries/library_calls.hpp"
#include "sys/large_stack.hpp"
#include "sys/original_dlsym.hpp"

#include <cstring>
#include <dlfcn.h>

namespace inline_prof::entry {
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

// True for an address in the next library behind us that exports `symbol`, other than the driver.
bool has_function(const void* caller, const char* symbol) noexcept {
  Dl_info theirs{};
  Dl_info of_caller{};
  void* const next = sys::glibc_dlsym()(RTLD_NEXT, symbol);
  if (next == nullptr) dlerror();  // NOLINT(concurrency-mt-unsafe): the caller must not find it
  return next != nullptr && dladdr(next, &theirs) != 0 && dladdr(caller, &of_caller) != 0 &&
         theirs.dli_fbase == of_caller.dli_fbase && !is_inside_driver(caller);
}

// The main program's handle stands for the global scope, in which we come before everybody.
bool is_main_program(void* handle) noexcept {
  void* self = nullptr;
  sys::on_large_stack([&] {
    self = dlopen(nullptr, RTLD_LAZY | RTLD_NOLOAD);
    if (self != nullptr) dlclose(self);
  });
  return handle == self;
}

// In the global scope glibc would find our own export; what matters is what comes after it.
// Otherwise it is NVTX that asks, and gets ours, which then calls the tool's; unless another tool
// is chained already.
FilterAnswer find_nvtx_entry(labels::NvtxEntry& entry, void* handle) noexcept {
  const bool is_global = handle == RTLD_DEFAULT || handle == RTLD_NEXT || is_main_program(handle);
  void* real = is_global ? sys::glibc_dlsym()(RTLD_NEXT, entry.symbol)
                         : sys::original_dlsym()(handle, entry.symbol);
  auto* const ours = reinterpret_cast<void*>(entry.ours);
  void* known = nullptr;
  const bool is_tools = !is_global && real != nullptr && real != ours &&
                        (entry.tools.compare_exchange_strong(known, real) || known == real);
  return {.result = is_tools ? ours : real, .jump = nullptr};
}

// For a function of a vendor's library.  dlsym does not find an export of ours that has a version,
// so glibc's answer is what the application would have got.  It does find one without a version,
// which is skipped.
FilterAnswer find_call(libraries::LibraryCall& call, void* handle, const void* caller) noexcept {
  const auto original_dlsym = sys::original_dlsym();
  if (handle == RTLD_NEXT) {
    // A caller before us in the order, or one that interposes as we do, gets what glibc finds;
    // nothing where that would be our own export.
    if (libraries::has_version(call) || sys::glibc_dlsym()(RTLD_NEXT, call.symbol) != nullptr)
      return pass_on();
    return {.result = nullptr, .jump = nullptr};
  }
  void* real = original_dlsym(handle, call.symbol);
  if (libraries::is_ours(real)) real = sys::glibc_dlsym()(RTLD_NEXT, call.symbol);
  // The scope of a library that came in by RTLD_LOCAL is its own.
  if (real == nullptr && handle == RTLD_DEFAULT)
    real = libraries::find_in_scope_of(caller, call.symbol);
  if (real != nullptr) return {.result = libraries::wrap_call(call, real), .jump = nullptr};
  // Not found; dlerror() has glibc's own message.
  if (libraries::has_version(call)) return pass_on();
  return {.result = sys::glibc_dlsym()(RTLD_NEXT, call.symbol), .jump = nullptr};
}

}  // namespace

// Runs before our own constructors and inside those of other libraries: it must not allocate, lock,
// or use a guarded static.
extern "C" [[gnu::visibility("hidden")]] FilterAnswer inline_prof_dlsym_filter(
    void* handle, const char* name, const void* caller) noexcept {
  const HookedFunction* hooked = hooked_by_symbol(name);
  if (hooked == nullptr) {
    if (libraries::LibraryCall* call = libraries::call_by_symbol(name))
      return find_call(*call, handle, caller);
    // The address sanitizer looks its functions up before its strcmp can be called.
    if (name == nullptr || name[0] != 'I') return pass_on();
    for (labels::NvtxEntry& entry : labels::nvtx_entries) {
      if (std::strcmp(name, entry.symbol) == 0) return find_nvtx_entry(entry, handle);
    }
    return pass_on();
  }

  if (handle == RTLD_DEFAULT || handle == RTLD_NEXT) {
    // dlsym would find our own export even if no driver is in the global scope, but the application
    // must see what it would see without us.  We do not export cuInit: if that is not found,
    // neither is this one, and glibc has set dlerror().
    void* driver = sys::original_dlsym()(RTLD_DEFAULT, "cuInit");
    if (driver == nullptr) return {.result = nullptr, .jump = nullptr};
    return pass_on();
  }

  // A library behind us that wraps the function as well asks for the driver's: through us again, a
  // launch would be seen twice.
  if (has_function(caller, name)) return pass_on();
  void* real = sys::original_dlsym()(handle, name);
  return {.result = wrap(*hooked, real), .jump = nullptr};
}

}  // namespace inline_prof::entry
