#include "launch/launching_threads.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <thread>

namespace inline_prof::launch {
namespace {

// The first thread has read the count and has not written it when the second one comes.  Counts of
// the second that it wrote over would be lost: all that were made until it runs again.
TEST(LaunchingThreads, TheSecondWaitsUntilTheFirstHasWrittenItsCount) {
  prepare_for_launching_threads();
  timer::LaunchSlot slot;
  slot.limit = std::numeric_limits<std::uint32_t>::max();
  ASSERT_TRUE(count_quietly(slot));
  if (several_threads_launch.load()) GTEST_SKIP() << "the kernel has no membarrier()";

  counting.thread.store(__builtin_thread_pointer());
  counting.first_thread_counts.store(true);
  const std::uint32_t read = slot.count.load();
  std::thread second([&] {
    for (int i = 0; i < 1000; ++i)
      EXPECT_TRUE(count_quietly(slot));
  });
  while (!several_threads_launch.load())
    std::this_thread::yield();
  // Time enough for a second thread that does not wait.
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  slot.count.store(read + 1);
  counting.first_thread_counts.store(false);
  second.join();
  EXPECT_EQ(counting.thread.load(), nullptr);
  EXPECT_EQ(slot.count.load(), 1002U);

  EXPECT_TRUE(count_quietly(slot)) << "with the locked instruction from now on";
  EXPECT_EQ(slot.count.load(), 1003U);
}

}  // namespace
}  // namespace inline_prof::launch
