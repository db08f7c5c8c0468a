// Threads of ours in the application's process (ThreadState::is_quiet), and how they wait.
#pragma once

#include <ctime>
#include <pthread.h>

namespace inline_prof::sys {

// Starts a thread that receives none of the application's signals; only those that a fault of the
// thread itself raises are left free. Returns 0, or the error of pthread_create.
[[nodiscard]] int start_quiet_thread(pthread_t& thread, void* (*main)(void*),
                                     void* argument) noexcept;

// Does the same for a detached thread.
[[nodiscard]] int start_quiet_detached_thread(void* (*main)(void*), void* argument) noexcept;

// Returns true once the application's main thread has ended by pthread_exit() and only threads of
// ours are left: without us the process would have ended, so ours end, too. Takes a few
// microseconds.
[[nodiscard]] bool only_quiet_threads_are_left() noexcept;

// A waiting thread of ours must ask that this often.
inline constexpr long kLongestSleepNanoseconds = 100'000'000;

inline constexpr long kNanosecondsPerSecond = 1'000'000'000;

// Returns the time that is `nanoseconds` away on the realtime clock, which sem_timedwait and
// pthread_cond_timedwait use by default. `nanoseconds` is not negative.
[[nodiscard]] timespec from_now(long nanoseconds) noexcept;

}  // namespace inline_prof::sys
