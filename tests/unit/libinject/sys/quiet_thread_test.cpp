#include "sys/quiet_thread.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <semaphore.h>

namespace inline_prof::sys {
namespace {

// The facts that a thread of ours finds, and its signal that it is done.
struct Seen {
  sigset_t mask{};
  sem_t done{};

  Seen() { sem_init(&done, 0, 0); }
  ~Seen() { sem_destroy(&done); }
  Seen(const Seen&) = delete;
  Seen& operator=(const Seen&) = delete;

  static void* look(void* self) {
    auto& seen = *static_cast<Seen*>(self);
    pthread_sigmask(SIG_SETMASK, nullptr, &seen.mask);
    sem_post(&seen.done);
    return nullptr;
  }
  [[nodiscard]] bool blocks(int signal) const { return sigismember(&mask, signal) == 1; }
};

sigset_t mask_of_this_thread() {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return mask;
}

TEST(QuietThread, GetsNoSignalAndItsStarterKeepsItsMask) {
  sigset_t before = mask_of_this_thread();
  ASSERT_EQ(sigismember(&before, SIGUSR1), 0);
  Seen joined;
  pthread_t thread{};
  ASSERT_EQ(start_quiet_thread(thread, &Seen::look, &joined), 0);
  pthread_join(thread, nullptr);
  Seen detached;
  ASSERT_EQ(start_quiet_detached_thread(&Seen::look, &detached), 0);
  ASSERT_EQ(sem_wait(&detached.done), 0);
  sigset_t after = mask_of_this_thread();
  for (const int signal :
       {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGCHLD, SIGALRM, SIGRTMIN, SIGRTMAX}) {
    EXPECT_TRUE(joined.blocks(signal)) << signal;
    EXPECT_TRUE(detached.blocks(signal)) << signal;
    EXPECT_EQ(sigismember(&after, signal), sigismember(&before, signal)) << signal;
  }
}

double seconds_until(const timespec& time) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(time.tv_sec - now.tv_sec) +
         static_cast<double>(time.tv_nsec - now.tv_nsec) / kNanosecondsPerSecond;
}

TEST(FromNow, IsATimeThatTheSystemTakes) {
  for (const long nanoseconds : {0L, 1L, 999'999'999L, 1'000'000'000L, 30'500'000'000L}) {
    const timespec time = from_now(nanoseconds);
    EXPECT_GE(time.tv_nsec, 0);
    EXPECT_LT(time.tv_nsec, kNanosecondsPerSecond);
    EXPECT_NEAR(seconds_until(time), static_cast<double>(nanoseconds) / kNanosecondsPerSecond, 1);
  }
}

}  // namespace
}  // namespace inline_prof::sys
