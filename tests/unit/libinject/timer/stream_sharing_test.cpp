#include "timer/stream_sharing.hpp"

#include "testing.hpp"

#include <cuda.h>

namespace inline_prof::timer {
namespace {

const void* stream_at(std::uintptr_t address) {
  return reinterpret_cast<const void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

template <typename Work>
void on_another_thread(const Work& work) {
  std::thread(work).join();
}

TEST(ExclusiveUse, IsNotSpoiledByItsOwnThread) {
  const LaunchScope around(stream_at(0x1000));
  ExclusiveUse* use = begin_exclusive_use(stream_at(0x1000));
  ASSERT_NE(use, nullptr);
  { const LaunchScope inside(stream_at(0x1000)); }
  EXPECT_FALSE(end_exclusive_use(*use));
}

TEST(ExclusiveUse, IsSpoiledByALaunchThatBeginsMeanwhile) {
  ExclusiveUse* use = begin_exclusive_use(stream_at(0x1000));
  on_another_thread([] { const LaunchScope launch(stream_at(0x1000)); });
  EXPECT_TRUE(end_exclusive_use(*use));
}

TEST(ExclusiveUse, IsSpoiledByALaunchThatBeganBefore) {
  LaunchUnderWay* mark = nullptr;
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    mark = begin_launch(stream_at(0x1000));
    is_over.store(true);
    is_over.notify_one();
    is_over.wait(true);
    end_launch(mark);
  });
  is_over.wait(false);
  ExclusiveUse* use = begin_exclusive_use(stream_at(0x1000));
  is_over.store(false);
  is_over.notify_one();
  other.join();
  EXPECT_TRUE(end_exclusive_use(*use));
  EXPECT_FALSE(end_exclusive_use(*begin_exclusive_use(stream_at(0x1000))));  // ended
}

TEST(ExclusiveUse, IsNotSpoiledOnOtherStreams) {
  ExclusiveUse* use = begin_exclusive_use(stream_at(0x1000));
  on_another_thread([] { const LaunchScope launch(stream_at(0x2000)); });
  EXPECT_FALSE(end_exclusive_use(*use));
}

TEST(ExclusiveUse, IsNotNeededOnTheStreamThatEachThreadHas) {
  EXPECT_EQ(begin_exclusive_use(CU_STREAM_PER_THREAD), nullptr);
  EXPECT_EQ(begin_launch(CU_STREAM_PER_THREAD), nullptr);
  EXPECT_FALSE(threads_meet_on(CU_STREAM_PER_THREAD));
}

TEST(ExclusiveUse, CountsAsSpoiledWhereThereAreTooMany) {
  std::vector<ExclusiveUse*> uses;
  for (std::size_t i = 0; i <= kMostExclusiveUses; ++i)
    uses.push_back(begin_exclusive_use(stream_at(0x1000)));
  EXPECT_EQ(exclusive_uses.load(), static_cast<int>(kMostExclusiveUses) + 1);
  int spoiled = 0;
  for (ExclusiveUse* use : uses)
    spoiled += end_exclusive_use(*use) ? 1 : 0;
  EXPECT_EQ(spoiled, 1);
  EXPECT_EQ(exclusive_uses.load(), 0);
}

TEST(ExclusiveUse, SeesLaunchesForWhichThereIsNoPlace) {
  std::vector<LaunchUnderWay*> marks;
  for (int i = 0; i < 100; ++i)
    marks.push_back(begin_launch(stream_at(0x3000)));
  bool is_spoiled = false;
  on_another_thread(
      [&] { is_spoiled = end_exclusive_use(*begin_exclusive_use(stream_at(0x1000))); });
  EXPECT_TRUE(is_spoiled);
  for (LaunchUnderWay* mark : marks)
    end_launch(mark);
  on_another_thread(
      [&] { is_spoiled = end_exclusive_use(*begin_exclusive_use(stream_at(0x3000))); });
  EXPECT_FALSE(is_spoiled);
}

TEST(ExclusiveUse, ForgetsMarksWhoseEndIsNotTold) {
  LaunchUnderWay* mark = begin_launch(stream_at(0x1000));
  forget_launches();
  bool is_spoiled = true;
  on_another_thread([&] {
    is_spoiled = end_exclusive_use(*begin_exclusive_use(stream_at(0x1000)));
    const LaunchScope other(stream_at(0x1000));
    end_launch(mark);  // too late: the place is free
  });
  EXPECT_FALSE(is_spoiled);
}

TEST(ExclusiveUse, KnowsWhereThreadsMeet) {
  note_thread_on(stream_at(0x10000));
  note_thread_on(stream_at(0x10000));
  EXPECT_FALSE(threads_meet_on(stream_at(0x10000)));
  on_another_thread([] { note_thread_on(stream_at(0x10000)); });
  EXPECT_TRUE(threads_meet_on(stream_at(0x10000)));
  EXPECT_TRUE(threads_meet_on(stream_at(0x20000)));  // unknown
}

// Two threads launch and measure on one stream; no pair may contain an unseen launch of the other.
TEST(ExclusiveUse, MissesNoLaunch) {
  std::atomic<int> launched_by_other{0};
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    while (!is_over.load()) {
      const LaunchScope launch(stream_at(0x1000));
      launched_by_other.fetch_add(1);
    }
  });
  int unseen = 0;
  for (int i = 0; i < 20'000; ++i) {
    ExclusiveUse* use = begin_exclusive_use(stream_at(0x1000));
    const int before = launched_by_other.load();
    const int after = launched_by_other.load();
    if (!end_exclusive_use(*use) && before != after) ++unseen;
  }
  is_over.store(true);
  other.join();
  EXPECT_EQ(unseen, 0);
}

}  // namespace
}  // namespace inline_prof::timer
