// Runs work that needs more stack than an application's thread may have.
#pragma once

#include <exception>
#include <memory>
#include <type_traits>

namespace inline_prof::sys {

// Calls `work(argument)` on a stack of ours with 1 MiB, or on the thread's own stack if that cannot
// be allocated. Signals are held back: a handler could not leave such a stack by a jump, and a
// garbage collector that stops threads by one would look for roots there. `work` must not throw.
void call_on_large_stack(void (*work)(void*) noexcept, void* argument) noexcept;

// Does the same for work that may throw.
template <typename Work>
void on_large_stack(Work&& work) {
  struct Call {
    std::remove_reference_t<Work>* work;
    std::exception_ptr thrown;
  };
  Call call{.work = std::addressof(work), .thrown = nullptr};
  call_on_large_stack(
      [](void* argument) noexcept {
        auto& each = *static_cast<Call*>(argument);
        try {
          (*each.work)();
        } catch (...) {
          each.thrown = std::current_exception();
        }
      },
      &call);
  if (call.thrown) std::rethrow_exception(call.thrown);
}

}  // namespace inline_prof::sys
