// Why a device is idle, of iterations whose gaps are known by hand.
#include "join/diagnose/idle.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace inline_prof::join {
namespace {

constexpr std::size_t kSamples = 20;

using enum IdleReason;

const IdlePart& part(const Idle& idle, IdleReason reason) {
  return idle.parts[static_cast<std::size_t>(reason)];
}

void expect_us(const Idle& idle, const std::vector<std::pair<IdleReason, double>>& parts) {
  for (const auto& [reason, us] : parts)
    EXPECT_NEAR(part(idle, reason).us, us, 1e-9) << "part " << static_cast<int>(reason);
}

// An iteration of 1000 us on one device.
class Scene {
 public:
  // Works without more than the arguments of add().
  explicit Scene(const std::vector<std::array<double, 3>>& works = {}) {
    runs_.emplace_back().iteration.us = 1000;
    for (const auto& [start_us, length_us, late] : works)
      add(start_us, length_us, late);
  }

  // A row of `length_us` whose launch came late in `late` of its samples.
  Row& add(double start_us, double length_us, double late, const std::string& layer = "net") {
    Row row;
    row.layer = layer;
    row.event = "kernel";
    row.start_index = static_cast<std::int64_t>(2 * rows_.size());
    row.end_index = row.start_index + 1;
    row.samples = kSamples;
    row.late = static_cast<std::size_t>(late * kSamples);
    row.queued = kSamples - row.late;
    row.offset_us = row.mean_offset_us = start_us;
    row.offset_ci95_us = Interval{start_us - 1, start_us + 1};
    row.corrected_us = row.in_iteration_us = length_us;
    row.raw_ci95_us = Interval{length_us - 1, length_us + 1};
    busy_us_ += length_us;
    rows_.push_back(row);
    return rows_.back();
  }
  Row& first() { return rows_.front(); }

  [[nodiscard]] std::optional<Idle> found(double idle_us) const {
    return find_idle(runs_, rows_, placement_of(runs_, rows_), {0, 0}, idle_us);
  }
  // For a scene in which it is known.  Checks that the parts add up.
  [[nodiscard]] Idle idle() const { return idle(1000 - busy_us_); }
  [[nodiscard]] Idle idle(double idle_us) const {
    Idle idle = found(idle_us).value();
    double sum = 0;
    for (const IdlePart& each : idle.parts)
      sum += each.us;
    EXPECT_NEAR(sum, idle.idle_us, 1e-9);
    return idle;
  }

 private:
  std::vector<Run> runs_;
  std::vector<Row> rows_;
  double busy_us_ = 0;
};

TEST(Idle, BeforeALateLaunchIsTheLaunchingThreads) {
  Scene scene;
  scene.add(0, 300, 0);
  scene.add(400, 300, 1, "optimizer.AdamW");  // 100 us late
  scene.add(702, 298, 0);                     // stood in the queue
  const Idle idle = scene.idle();
  const IdlePart& thread = part(idle, kLaunchingThread);
  EXPECT_NEAR(thread.us, 100, 1e-9);
  ASSERT_EQ(thread.behind.size(), 1U);
  EXPECT_EQ(thread.behind.front().place, "optimizer.AdamW");
  ASSERT_TRUE(thread.ci95_us);
  EXPECT_LT(thread.ci95_us->lower, 100);
  EXPECT_GT(thread.ci95_us->upper, 100);
  expect_us(idle, {{kStarts, 2}});
  EXPECT_EQ(largest_part(idle)->reason, kLaunchingThread);
}

// In a quarter of the iterations the launch was in time.
TEST(Idle, AroundUnmeasuredWorkIsNotKnown) {
  Scene scene({{0, 100, 1}, {200, 100, 1}});  // 100 us late
  Row& unmeasured = scene.add(400, 0, 0);
  unmeasured.samples = unmeasured.late = unmeasured.queued = 0;
  unmeasured.offset_us.reset();
  unmeasured.mean_offset_us.reset();
  unmeasured.in_iteration_us = 200;  // as predicted
  const Idle idle = scene.idle(600);
  expect_us(idle, {{kLaunchingThread, 100}, {kBetweenIterations, 0}, {kNotKnown, 500}});
}

TEST(Idle, IsDividedAsTheSamplesAre) {
  Scene scene({{0, 300, 0}, {400, 600, 0.75}});
  const Idle idle = scene.idle();
  expect_us(idle, {{kLaunchingThread, 75}, {kStarts, 3}});
  EXPECT_NEAR(part(idle, kNotKnown).us, 22, 1e-9) << "there is one stream, one rank";
}

TEST(Idle, BeforeTheFirstLaunchLiesBetweenIterations) {
  Scene scene({{50, 300, 1}, {350, 500, 0}});  // and 150 us up to the end
  const Idle without_wait = scene.idle();
  expect_us(without_wait, {{kBetweenIterations, 200}});
  // The host came back from a wait 20 us after the device had run dry.
  scene.first().after_wait_us = 180;
  const Idle idle = scene.idle();
  expect_us(idle, {{kBetweenIterations, 180}, {kSynchronisation, 20}});
}

TEST(Idle, AfterAWaitIsTheWaitsOwn) {
  Scene scene;
  scene.add(0, 300, 0);
  scene.add(400, 300, 1).after_wait_us = 90;
  scene.add(800, 200, 1).after_wait_us = 450;  // the same wait, long before
  const Idle idle = scene.idle();
  expect_us(idle, {{kSynchronisation, 100}, {kLaunchingThread, 100}});
}

TEST(Idle, BeforeQueuedWorkIsForOtherStreamsWhereThereAreSome) {
  Scene scene;
  scene.add(0, 300, 0);
  scene.add(400, 600, 0).stream_index = 1;
  const Idle idle = scene.idle();
  expect_us(idle, {{kOtherStreams, 97}, {kStarts, 3}});
}

// Streams beside each other: only what none of them works in is idle.
TEST(Idle, IsWhatNoStreamWorksIn) {
  Scene scene;
  scene.add(0, 500, 0);
  scene.add(100, 300, 1).stream_index = 1;
  scene.add(600, 400, 1);
  const Idle idle = scene.idle(100);
  expect_us(idle, {{kLaunchingThread, 100}});
}

// Medians of different iterations: the first of three works seems to begin last.
TEST(Idle, OfWorksThatSeemToOverlapIsThatOfTheNearestOffsets) {
  Scene scene;
  scene.add(0, 100, 0);
  scene.add(400, 100, 1, "first");
  scene.add(440, 100, 1, "second");  // lies 100 us behind the first, so both are 80 us off
  scene.add(700, 300, 1, "third");
  const Idle idle = scene.idle();
  const IdlePart& thread = part(idle, kLaunchingThread);
  ASSERT_EQ(thread.behind.size(), 2U);
  EXPECT_EQ(thread.behind[0].place, "first");
  EXPECT_NEAR(thread.behind[0].us, 270, 1e-9);
  EXPECT_EQ(thread.behind[1].place, "third");
  EXPECT_NEAR(thread.behind[1].us, 130, 1e-9);
}

// The replay came late, its nodes did not: they wait for each other.
TEST(Idle, BeforeANodeIsTheLaunchingThreadsOnlyWhereItBeginsTheReplay) {
  Scene scene;
  scene.add(0, 300, 0);
  for (const double start_us : {400.0, 552.0, 704.0}) {
    Row& node = scene.add(start_us, 150, 1, "net");
    node.is_graph_node = true;
  }
  scene.add(856, 144, 0);
  const Idle idle = scene.idle();
  expect_us(idle, {{kLaunchingThread, 100}, {kStarts, 6}});
}

// Offsets that scatter say nothing of gaps of a microsecond.
TEST(Idle, BetweenNodesWhoseOffsetsScatterIsNone) {
  Scene scene;
  scene.add(0, 300, 0);
  for (const double start_us : {400.0, 575.0, 685.0, 870.0}) {
    Row& node = scene.add(start_us, 150, 1, "net");
    node.is_graph_node = true;
  }
  const Idle idle = scene.idle();
  EXPECT_NEAR(part(idle, kLaunchingThread).us, 100, 10);
  expect_us(idle, {{kStarts, 0}});
}

// A row that waits for another stream begins when that ends: the offset's error is no gap.
TEST(Idle, BeforeQueuedWorkIsTheNextLateLaunchsWhereItIsNoMoreThanAnError) {
  Scene scene;
  scene.add(0, 300, 0);
  Row& queued = scene.add(320, 280, 0);
  queued.stream_index = 1;
  queued.offset_ci95_us = Interval{280, 360};
  scene.add(700, 300, 1, "late");
  const Idle idle = scene.idle();
  expect_us(idle, {{kLaunchingThread, 120}, {kOtherStreams, 0}});
}

// A row that stood in the queue follows what stands before it, whatever the offsets' errors.
TEST(Idle, BeforeQueuedWorkIsNoneWhereThereIsOneStream) {
  Scene scene;
  scene.add(0, 200, 0);
  scene.add(280, 200, 1, "late");  // 100 us late, less an error of 20
  scene.add(530, 200, 0);          // 30 us too far back
  scene.add(690, 200, 0);          // 10 us too far to the front
  const Idle idle = scene.idle(200);
  expect_us(idle, {{kLaunchingThread, 100}});
  EXPECT_NEAR(part(idle, kStarts).us, 3, 1e-9) << "at the beginning";
}

// Medians of different iterations need not add up.
TEST(Idle, AddsUpWhateverTheGapsAre) {
  Scene scene({{0, 300, 0}, {400, 600, 1}});
  const Idle less = scene.idle(50);
  expect_us(less, {{kLaunchingThread, 50}});
  const Idle more = scene.idle(120);
  expect_us(more, {{kNotKnown, 20}});
}

TEST(Idle, IsNotKnownWhereTheFileDoesNotSayWhichLaunchesWereLate) {
  Scene scene;
  Row& row = scene.add(100, 300, 0);
  row.queued = 0;
  EXPECT_FALSE(scene.found(700));
  scene.add(500, 100, 1).any_occurrence = true;
  EXPECT_FALSE(scene.found(600)) << "a run without iterations";
}

TEST(Idle, OfTwoDevicesIsTheirMean) {
  Scene scene({{0, 300, 0}, {400, 600, 1}});
  const auto mean = mean_idle({scene.idle(100), scene.idle(60)});
  ASSERT_TRUE(mean);
  EXPECT_NEAR(mean->idle_us, 80, 1e-9);
  EXPECT_NEAR(part(*mean, kLaunchingThread).us, 80, 1e-9);
  EXPECT_NEAR(part(*mean, kLaunchingThread).behind.front().us, 80, 1e-9);
  EXPECT_FALSE(mean_idle({}));
}

}  // namespace
}  // namespace inline_prof::join
