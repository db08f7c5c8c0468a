#include "sys/thread_memory.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace inline_prof::sys {
namespace {

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
