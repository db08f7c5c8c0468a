// A signal that a system call of ours may bring upon this thread: SIGPIPE where nobody reads
// stderr any more, SIGXFSZ where the application limits the size of files (RLIMIT_FSIZE).
#pragma once

#include <csignal>
#include <ctime>
#include <initializer_list>
#include <pthread.h>

namespace inline_prof::sys {

// All signals but those that a fault of the thread itself brings: blocked, such a one kills the
// process past every handler.
[[nodiscard]] inline sigset_t all_but_faults() noexcept {
  sigset_t signals;
  sigfillset(&signals);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS})
    sigdelset(&signals, fault);
  return signals;
}

// While it lives, `signal` is held back from this thread; what came meanwhile is taken away again,
// so that the failed call is an error and nothing else.  A signal that was pending before stays.
class HeldSignal {
 public:
  explicit HeldSignal(int signal) noexcept {
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending);
    was_pending_ = sigismember(&pending, signal) == 1;
    sigemptyset(&held_);
    sigaddset(&held_, signal);
    is_held_ = pthread_sigmask(SIG_BLOCK, &held_, &before_) == 0;
  }
  ~HeldSignal() {
    if (!is_held_) return;
    const timespec at_once{};
    if (!was_pending_) sigtimedwait(&held_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  HeldSignal(const HeldSignal&) = delete;
  HeldSignal& operator=(const HeldSignal&) = delete;

 private:
  sigset_t held_{};
  sigset_t before_{};
  bool was_pending_ = false;
  bool is_held_ = false;
};

// All that can be held back, from this thread.
class HeldSignals {
 public:
  HeldSignals() noexcept {
    const sigset_t held = all_but_faults();
    is_held_ = pthread_sigmask(SIG_SETMASK, &held, &before_) == 0;
  }
  ~HeldSignals() {
    if (is_held_) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  [[nodiscard]] const sigset_t& before() const noexcept { return before_; }

 private:
  sigset_t before_{};
  bool is_held_ = false;
};

}  // namespace inline_prof::sys
