// Threads of ours in the application's process (ThreadState::is_quiet), and how they wait.
#pragma once

#include <csignal>
#include <ctime>
#include <initializer_list>
#include <pthread.h>

namespace inline_prof::sys {

// Starts a thread that receives none of the application's signals; only those that a fault of the
// thread itself raises are left free. Returns 0, or the error of pthread_create.
[[nodiscard]] int start_quiet_thread(pthread_t& thread, void* (*main)(void*),
                                     void* argument) noexcept;

// Does the same for a detached thread.
[[nodiscard]] int start_quiet_detached_thread(void* (*main)(void*), void* argument) noexcept;

// Returns true once the application's main thread has ended by pthread_exit() and only threads of
// ours are left: without us the process would have ended, so ours end, too. `status`, if it is not
// null, is then what the main thread ended with, as waitpid() gives it. Takes a few microseconds.
[[nodiscard]] bool only_quiet_threads_are_left(int* status = nullptr) noexcept;

// A waiting thread of ours must ask that this often.
inline constexpr long kLongestSleepNanoseconds = 100'000'000;

inline constexpr long kNanosecondsPerSecond = 1'000'000'000;

// Returns the time that is `nanoseconds` away on the realtime clock, which sem_timedwait and
// pthread_cond_timedwait use by default. `nanoseconds` is not negative.
[[nodiscard]] timespec from_now(long nanoseconds) noexcept;

// Holds back signals that our own system calls may raise: SIGPIPE if stderr is a pipe without a
// reader, SIGXFSZ if the application limits the size of files (RLIMIT_FSIZE).

// Returns all signals except those that a fault of the thread itself raises: if these are blocked,
// the process is killed without a handler.
[[nodiscard]] inline sigset_t all_but_faults() noexcept {
  sigset_t signals;
  sigfillset(&signals);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS})
    sigdelset(&signals, fault);
  return signals;
}

// Blocks `signal` on this thread while it lives, and removes one that was raised meanwhile, so that
// the failed call is only an error.  A signal that was pending before stays pending.
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

// Blocks all signals that can be held back on this thread.
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
