#include "sys/large_stack.hpp"
#include "sys/quiet_thread.hpp"
#include "sys/thread_memory.hpp"
#include "testing.hpp"

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

TEST(ALargeStack, IsNotTheThreadsOwnAndIsLeftAgain) {
  if (INLINE_PROF_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer knows the thread's own stack only";
  int here = 0;
  int sum = 0;
  bool is_far = false;
  on_large_stack([&] {
    volatile char room[900'000];
    room[0] = 1;
    room[sizeof room - 1] = 2;
    sum = room[0] + room[sizeof room - 1];
    const auto distance = reinterpret_cast<std::intptr_t>(&here) -
                          reinterpret_cast<std::intptr_t>(const_cast<char*>(&room[0]));
    is_far = distance < 0 || distance > (8 << 20);
  });
  EXPECT_EQ(sum, 3);
  EXPECT_TRUE(is_far);
}

TEST(ALargeStack, LetsExceptionsBeCaughtOnIt) {
  int caught = 0;
  on_large_stack([&] {
    try {
      throw std::runtime_error("x");
    } catch (const std::runtime_error&) {
      ++caught;
    }
  });
  EXPECT_EQ(caught, 1);
}

TEST(ALargeStack, LetsExceptionsOut) {
  EXPECT_THROW(on_large_stack([] { throw std::runtime_error("x"); }), std::runtime_error);
}

TEST(ALargeStack, GetsNoSignalAndTheThreadKeepsItsMask) {
  if (INLINE_PROF_TEST_SANITIZED) GTEST_SKIP() << "no stack is changed there";
  sigset_t before;
  sigset_t inside;
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  on_large_stack([&] { pthread_sigmask(SIG_SETMASK, nullptr, &inside); });
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(sigismember(&inside, SIGTERM), 1);
  EXPECT_EQ(sigismember(&inside, SIGSEGV), 0);
  for (int signal = 1; signal < 32; ++signal)
    EXPECT_EQ(sigismember(&after, signal), sigismember(&before, signal)) << signal;
}

std::atomic<int> alive{0};

struct Notes {
  Notes() { ++alive; }
  ~Notes() { --alive; }
  Notes(const Notes&) = delete;
  Notes& operator=(const Notes&) = delete;
  int number = 42;
};

constinit thread_local PerThread<Notes> notes;
constinit thread_local PerThread<int> other;

TEST(ThreadMemory, IsMadeWhenItIsAskedForAndEndsWithItsThread) {
  std::thread([] {
    EXPECT_EQ(notes.get(), nullptr);
    Notes* const mine = notes.make();
    ASSERT_NE(mine, nullptr);
    EXPECT_EQ(mine->number, 42);
    EXPECT_EQ(notes.make(), mine);
    EXPECT_EQ(notes.get(), mine);
    int* const others = other.make();
    ASSERT_NE(others, nullptr);
    *others = 7;
    EXPECT_EQ(alive.load(), 1);
  }).join();
  EXPECT_EQ(alive.load(), 0);
}

TEST(ThreadMemory, IsEachThreadsOwn) {
  std::thread([] {
    Notes* const mine = notes.make();
    std::thread([mine] { EXPECT_NE(notes.make(), mine); }).join();
    EXPECT_EQ(alive.load(), 1);
  }).join();
  EXPECT_EQ(alive.load(), 0);
}

}  // namespace
}  // namespace inline_prof::sys
