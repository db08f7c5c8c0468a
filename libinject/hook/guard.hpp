// The fence at every entry point of the injected library.
#pragma once

#include "hook/ending.hpp"
#include "sys/lifecycle.hpp"
#include "sys/thread_state.hpp"

#include <cerrno>
#include <exception>
#include <pthread.h>
#include <utility>

namespace inline_prof::hook {

// Refuses re-entry per thread: vendor libraries call hooked functions while we call them.  A
// refused call still reaches the original function; only our part is skipped.
class HookGuard {
 public:
  HookGuard() noexcept : entered_(!sys::this_thread.is_inside) {
    if (entered_) sys::this_thread.is_inside = true;
  }
  ~HookGuard() {
    if (!entered_) return;
    sys::this_thread.is_inside = false;
    // A signal that ends the process came meanwhile; the writer's thread is about to do it.
    if (ending_signal.load(std::memory_order_relaxed) != 0 && !sys::this_thread.is_quiet)
        [[unlikely]]
      wait_for_the_end();
  }
  HookGuard(const HookGuard&) = delete;
  HookGuard& operator=(const HookGuard&) = delete;

  explicit operator bool() const noexcept { return entered_; }

  // True while this thread runs our code.
  [[nodiscard]] static bool is_inside() noexcept { return sys::this_thread.is_inside; }

 private:
  bool entered_;
};

// Restores errno and the cancellation state of the application's thread.  Cancellation is disabled
// meanwhile, because glibc unwinds a cancelled thread with an exception and aborts the process if a
// catch (...) swallows it.
class CallerThreadState {
 public:
  CallerThreadState() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state_); }
  ~CallerThreadState() {
    pthread_setcancelstate(cancel_state_, nullptr);
    errno = errno_;
  }
  CallerThreadState(const CallerThreadState&) = delete;
  CallerThreadState& operator=(const CallerThreadState&) = delete;

 private:
  int errno_ = errno;
  int cancel_state_ = PTHREAD_CANCEL_ENABLE;
};

// Runs our own work inside a call of the application.  An exception ends profiling, not the
// application.
template <typename Work>
void fenced(const char* where, Work&& work) noexcept {
  const HookGuard guard;
  if (!guard) return;
  const CallerThreadState host;
  try {
    std::forward<Work>(work)();
  } catch (const std::exception& error) {
    sys::turn_off(where, error.what());
  } catch (...) {
    sys::turn_off(where, "unknown exception");
  }
}

}  // namespace inline_prof::hook
