#include "sys/large_stack.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <stdexcept>

namespace inline_prof::sys {
namespace {

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

}  // namespace
}  // namespace inline_prof::sys
