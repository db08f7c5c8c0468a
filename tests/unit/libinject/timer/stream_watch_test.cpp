#include "timer/stream_watch.hpp"

#include <cuda.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace inline_prof::timer {
namespace {

const void* stream_at(std::uintptr_t address) {
  return reinterpret_cast<const void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

template <typename Work>
void on_another_thread(const Work& work) {
  std::thread(work).join();
}

TEST(StreamWatch, IsNotSpoiledByItsOwnThread) {
  const MarkedLaunch around(stream_at(0x1000));
  StreamWatch* watch = open_watch(stream_at(0x1000));
  ASSERT_NE(watch, nullptr);
  { const MarkedLaunch inside(stream_at(0x1000)); }
  EXPECT_FALSE(close_watch(*watch));
}

TEST(StreamWatch, IsSpoiledByALaunchThatBeginsMeanwhile) {
  StreamWatch* watch = open_watch(stream_at(0x1000));
  on_another_thread([] { const MarkedLaunch launch(stream_at(0x1000)); });
  EXPECT_TRUE(close_watch(*watch));
}

TEST(StreamWatch, IsSpoiledByALaunchThatBeganBefore) {
  LaunchMark* mark = nullptr;
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    mark = mark_launch(stream_at(0x1000));
    is_over.store(true);
    is_over.notify_one();
    is_over.wait(true);
    end_mark(mark);
  });
  is_over.wait(false);
  StreamWatch* watch = open_watch(stream_at(0x1000));
  is_over.store(false);
  is_over.notify_one();
  other.join();
  EXPECT_TRUE(close_watch(*watch));
  EXPECT_FALSE(close_watch(*open_watch(stream_at(0x1000))));  // it has ended
}

TEST(StreamWatch, IsNotSpoiledOnOtherStreams) {
  StreamWatch* watch = open_watch(stream_at(0x1000));
  on_another_thread([] { const MarkedLaunch launch(stream_at(0x2000)); });
  EXPECT_FALSE(close_watch(*watch));
}

TEST(StreamWatch, IsNotNeededOnTheStreamThatEachThreadHas) {
  EXPECT_EQ(open_watch(CU_STREAM_PER_THREAD), nullptr);
  EXPECT_EQ(mark_launch(CU_STREAM_PER_THREAD), nullptr);
  EXPECT_FALSE(threads_meet_on(CU_STREAM_PER_THREAD));
}

TEST(StreamWatch, CountsAsSpoiledWhereThereAreTooMany) {
  std::vector<StreamWatch*> watches;
  for (std::size_t i = 0; i <= kMostWatches; ++i)
    watches.push_back(open_watch(stream_at(0x1000)));
  EXPECT_EQ(open_watches.load(), static_cast<int>(kMostWatches) + 1);
  int spoiled = 0;
  for (StreamWatch* watch : watches)
    spoiled += close_watch(*watch) ? 1 : 0;
  EXPECT_EQ(spoiled, 1);
  EXPECT_EQ(open_watches.load(), 0);
}

TEST(StreamWatch, SeesLaunchesForWhichThereIsNoPlace) {
  std::vector<LaunchMark*> marks;
  for (int i = 0; i < 100; ++i)
    marks.push_back(mark_launch(stream_at(0x3000)));
  bool is_spoiled = false;
  on_another_thread([&] { is_spoiled = close_watch(*open_watch(stream_at(0x1000))); });
  EXPECT_TRUE(is_spoiled);
  for (LaunchMark* mark : marks)
    end_mark(mark);
  on_another_thread([&] { is_spoiled = close_watch(*open_watch(stream_at(0x3000))); });
  EXPECT_FALSE(is_spoiled);
}

TEST(StreamWatch, ForgetsMarksWhoseEndIsNotTold) {
  LaunchMark* mark = mark_launch(stream_at(0x1000));
  forget_marks();
  bool is_spoiled = true;
  on_another_thread([&] {
    is_spoiled = close_watch(*open_watch(stream_at(0x1000)));
    const MarkedLaunch other(stream_at(0x1000));
    end_mark(mark);  // too late: nobody's
  });
  EXPECT_FALSE(is_spoiled);
}

TEST(StreamWatch, KnowsWhereThreadsMeet) {
  note_thread_on(stream_at(0x10000));
  note_thread_on(stream_at(0x10000));
  EXPECT_FALSE(threads_meet_on(stream_at(0x10000)));
  on_another_thread([] { note_thread_on(stream_at(0x10000)); });
  EXPECT_TRUE(threads_meet_on(stream_at(0x10000)));
  EXPECT_TRUE(threads_meet_on(stream_at(0x20000)));  // never heard of
}

// Of two threads that launch and measure on one stream, no pair holds a launch of the other unseen.
TEST(StreamWatch, MissesNoLaunch) {
  std::atomic<int> launched_by_other{0};
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    while (!is_over.load()) {
      const MarkedLaunch launch(stream_at(0x1000));
      launched_by_other.fetch_add(1);
    }
  });
  int unseen = 0;
  for (int i = 0; i < 20'000; ++i) {
    StreamWatch* watch = open_watch(stream_at(0x1000));
    const int before = launched_by_other.load();
    const int after = launched_by_other.load();
    if (!close_watch(*watch) && before != after) ++unseen;
  }
  is_over.store(true);
  other.join();
  EXPECT_EQ(unseen, 0);
}

}  // namespace
}  // namespace inline_prof::timer
