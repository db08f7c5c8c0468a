// Threads of ours in the application's process (ThreadState::is_quiet), and how they wait.
#pragma once

#include <ctime>
#include <pthread.h>

namespace inline_prof::sys {

// Starts a thread that receives none of the application's signals.  Only those that a fault of the
// thread itself brings are left free.  Returns 0, or the error of pthread_create.
[[nodiscard]] int start_quiet_thread(pthread_t& thread, void* (*main)(void*),
                                     void* argument) noexcept;

// The same for a detached thread.
[[nodiscard]] int start_quiet_detached_thread(void* (*main)(void*), void* argument) noexcept;

// True once the application's main thread has ended by pthread_exit() and nothing is left but
// threads of ours: then the process would have ended, and ends when they do.  A few microseconds.
[[nodiscard]] bool only_quiet_threads_are_left() noexcept;

// How often a thread of ours must ask that while it waits.
inline constexpr long kLongestSleepNanoseconds = 100'000'000;

inline constexpr long kNanosecondsPerSecond = 1'000'000'000;

// That long from now on the realtime clock, which sem_timedwait and pthread_cond_timedwait count on
// unless told otherwise.  Not negative.
[[nodiscard]] timespec from_now(long nanoseconds) noexcept;

}  // namespace inline_prof::sys
