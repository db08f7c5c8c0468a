#include "launch/launching_threads.hpp"

#include <cerrno>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace inline_prof::launch {

constinit std::atomic<bool> several_threads_launch{false};
constinit CountingLine counting;

namespace {

constinit std::atomic<bool> one_launches{false};
constinit std::atomic<bool> first_thread_knows{false};

// A barrier in every running thread of this process; false where the kernel has none (before Linux
// 4.14, or a sandbox forbids it).
bool barrier_in_all_threads(int command) noexcept {
  const int saved_errno = errno;
  const bool done = syscall(SYS_membarrier, command, 0, 0, 0, 0) == 0;
  errno = saved_errno;
  return done;
}

// 0.1 s at least: the first thread may have to wait for a processor between two instructions.  It
// takes longer only if it is stopped, and then a lost count is the least of its troubles.
constexpr int kMostWaits = 10'000;
constexpr unsigned kWaitMicroseconds = 10;

}  // namespace

void prepare_for_launching_threads() noexcept {
  if (barrier_in_all_threads(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)) return;
  // Counted with locked instructions from the start, then.
  several_threads_launch.store(true);
  first_thread_knows.store(true);
}

void note_first_launch_of_thread() noexcept {
  sys::this_thread.launches = true;
  if (!one_launches.exchange(true)) return;
  several_threads_launch.store(true);
  counting.thread.store(nullptr);
  if (first_thread_knows.load(std::memory_order_acquire)) return;
  static_cast<void>(barrier_in_all_threads(MEMBARRIER_CMD_PRIVATE_EXPEDITED));
  const int saved_errno = errno;
  for (int i = 0; i < kMostWaits && counting.first_thread_counts.load(std::memory_order_acquire);
       ++i)
    usleep(kWaitMicroseconds);
  errno = saved_errno;
  first_thread_knows.store(true, std::memory_order_release);
}

}  // namespace inline_prof::launch
