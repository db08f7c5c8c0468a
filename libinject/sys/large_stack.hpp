// For work that needs more stack than an application's thread may have.
#pragma once

#include <memory>
#include <type_traits>

namespace inline_prof::sys {

// Calls `work(argument)` on a stack of ours with 1 MiB; on the thread's own stack if that cannot be
// allocated.  No signal comes meanwhile: a handler could not leave such a stack by a jump, and a
// garbage collector that stops threads by one would look for roots there.  `work` must not throw.
void call_on_large_stack(void (*work)(void*) noexcept, void* argument) noexcept;

template <typename Work>
void on_large_stack(Work&& work) noexcept {
  using Bare = std::remove_reference_t<Work>;
  call_on_large_stack([](void* argument) noexcept { (*static_cast<Bare*>(argument))(); },
                      const_cast<void*>(static_cast<const void*>(std::addressof(work))));
}

}  // namespace inline_prof::sys
