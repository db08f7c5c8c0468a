// Threads of ours in the application's process, and how they wait.
#pragma once

#include <ctime>
#include <pthread.h>

namespace inline_prof::sys {

// Starts a thread that gets none of the application's signals: they are the application's.  Returns
// 0, or the error of pthread_create.
[[nodiscard]] int start_quiet_thread(pthread_t& thread, void* (*main)(void*),
                                     void* argument) noexcept;

// Likewise a thread that nobody joins.
[[nodiscard]] int start_quiet_detached_thread(void* (*main)(void*), void* argument) noexcept;

inline constexpr long kNanosecondsPerSecond = 1'000'000'000;

// That long from now on the realtime clock, which sem_timedwait and pthread_cond_timedwait count on
// unless told otherwise.  Not negative.
[[nodiscard]] timespec from_now(long nanoseconds) noexcept;

}  // namespace inline_prof::sys
