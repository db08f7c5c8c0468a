// Why a device is idle, of iterations whose gaps are known by hand.
#include "join/idle.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

namespace inline_prof::join {
namespace {

constexpr std::size_t kSamples = 20;

// An iteration of 1000 us on one device.
class Iteration {
 public:
  Iteration() {
    analysis_.runs.emplace_back();
    analysis_.runs.front().iteration_us = 1000;
  }

  // A work of `length_us` whose launch came late in `late` of its samples.
  Row& add(double start_us, double length_us, double late, const std::string& layer = "net") {
    Row row;
    row.layer = layer;
    row.event = "kernel";
    row.start_index = static_cast<std::int64_t>(2 * analysis_.rows.size());
    row.end_index = row.start_index + 1;
    row.samples = kSamples;
    row.late = static_cast<std::size_t>(late * kSamples);
    row.queued = kSamples - row.late;
    row.offset_us = start_us;
    row.offset_ci95_us = Interval{start_us - 1, start_us + 1};
    row.corrected_us = row.in_iteration_us = length_us;
    row.raw_ci95_us = Interval{length_us - 1, length_us + 1};
    busy_us_ += length_us;
    analysis_.rows.push_back(row);
    return analysis_.rows.back();
  }

  [[nodiscard]] std::optional<Idle> idle() const { return idle(1000 - busy_us_); }
  [[nodiscard]] std::optional<Idle> idle(double idle_us) const {
    std::vector<std::size_t> outermost(analysis_.rows.size());
    std::iota(outermost.begin(), outermost.end(), std::size_t{0});
    return find_idle(analysis_, 0, 0, outermost, idle_us);
  }
  [[nodiscard]] Analysis& analysis() { return analysis_; }

 private:
  Analysis analysis_;
  double busy_us_ = 0;
};

const IdlePart& part(const Idle& idle, IdleReason reason) {
  return idle.parts[static_cast<std::size_t>(reason)];
}

void expect_sum(const Idle& idle) {
  double sum = 0;
  for (const IdlePart& each : idle.parts)
    sum += each.us;
  EXPECT_NEAR(sum, idle.idle_us, 1e-9);
}

TEST(Idle, BeforeALateLaunchIsTheLaunchingThreads) {
  Iteration iteration;
  iteration.add(0, 300, 0);
  iteration.add(400, 300, 1, "optimizer.AdamW");  // 100 us late
  iteration.add(702, 298, 0);                     // stood in the queue
  const auto idle = iteration.idle();
  ASSERT_TRUE(idle);
  expect_sum(*idle);
  const IdlePart& thread = part(*idle, IdleReason::kLaunchingThread);
  EXPECT_NEAR(thread.us, 100, 1e-9);
  ASSERT_EQ(thread.behind.size(), 1U);
  EXPECT_EQ(thread.behind.front().place, "optimizer.AdamW");
  ASSERT_TRUE(thread.ci95_us);
  EXPECT_LT(thread.ci95_us->lower, 100);
  EXPECT_GT(thread.ci95_us->upper, 100);
  EXPECT_NEAR(part(*idle, IdleReason::kStarts).us, 2, 1e-9);
  EXPECT_EQ(largest_part(*idle)->reason, IdleReason::kLaunchingThread);
}

// In a quarter of the iterations the launch was in time.
TEST(Idle, AroundUnmeasuredWorkIsNotKnown) {
  Iteration iteration;
  iteration.add(0, 100, 1);
  iteration.add(200, 100, 1);  // 100 us late
  Row& unmeasured = iteration.add(400, 0, 0);
  unmeasured.samples = unmeasured.late = unmeasured.queued = 0;
  unmeasured.offset_us.reset();
  unmeasured.in_iteration_us = 200;  // as predicted
  const auto idle = iteration.idle(600);
  ASSERT_TRUE(idle);
  expect_sum(*idle);
  EXPECT_NEAR(part(*idle, IdleReason::kLaunchingThread).us, 100, 1e-9);
  EXPECT_EQ(part(*idle, IdleReason::kBetweenIterations).us, 0);
  EXPECT_NEAR(part(*idle, IdleReason::kNotKnown).us, 500, 1e-9);
}

TEST(Idle, IsDividedAsTheSamplesAre) {
  Iteration iteration;
  iteration.add(0, 300, 0);
  iteration.add(400, 600, 0.75);
  const auto idle = iteration.idle();
  ASSERT_TRUE(idle);
  expect_sum(*idle);
  EXPECT_NEAR(part(*idle, IdleReason::kLaunchingThread).us, 75, 1e-9);
  EXPECT_NEAR(part(*idle, IdleReason::kStarts).us, 3, 1e-9);
  EXPECT_NEAR(part(*idle, IdleReason::kNotKnown).us, 22, 1e-9) << "there is one stream, one rank";
}

TEST(Idle, BeforeTheFirstLaunchLiesBetweenIterations) {
  Iteration iteration;
  iteration.add(50, 300, 1);
  iteration.add(350, 500, 0);  // and 150 us up to the end
  const auto without_wait = iteration.idle();
  ASSERT_TRUE(without_wait);
  EXPECT_NEAR(part(*without_wait, IdleReason::kBetweenIterations).us, 200, 1e-9);
  // The host came back from a wait 20 us after the device had run dry.
  iteration.analysis().rows.front().after_wait_us = 180;
  const auto idle = iteration.idle();
  expect_sum(*idle);
  EXPECT_NEAR(part(*idle, IdleReason::kBetweenIterations).us, 180, 1e-9);
  EXPECT_NEAR(part(*idle, IdleReason::kSynchronisation).us, 20, 1e-9);
}

TEST(Idle, AfterAWaitIsTheWaitsOwn) {
  Iteration iteration;
  iteration.add(0, 300, 0);
  iteration.add(400, 300, 1).after_wait_us = 90;
  iteration.add(800, 200, 1).after_wait_us = 450;  // the same wait, long before
  const auto idle = iteration.idle();
  ASSERT_TRUE(idle);
  EXPECT_NEAR(part(*idle, IdleReason::kSynchronisation).us, 100, 1e-9);
  EXPECT_NEAR(part(*idle, IdleReason::kLaunchingThread).us, 100, 1e-9);
}

TEST(Idle, BeforeQueuedWorkIsForOtherStreamsWhereThereAreSome) {
  Iteration iteration;
  iteration.add(0, 300, 0);
  iteration.add(400, 600, 0).stream_index = 1;
  const auto idle = iteration.idle();
  ASSERT_TRUE(idle);
  expect_sum(*idle);
  EXPECT_NEAR(part(*idle, IdleReason::kOtherStreams).us, 97, 1e-9);
  EXPECT_NEAR(part(*idle, IdleReason::kStarts).us, 3, 1e-9);
}

// Streams beside each other: only what none of them works in is idle.
TEST(Idle, IsWhatNoStreamWorksIn) {
  Iteration iteration;
  iteration.add(0, 500, 0);
  iteration.add(100, 300, 1).stream_index = 1;
  iteration.add(600, 400, 1);
  const auto idle = iteration.idle(100);
  ASSERT_TRUE(idle);
  expect_sum(*idle);
  EXPECT_NEAR(part(*idle, IdleReason::kLaunchingThread).us, 100, 1e-9);
}

// Medians of different iterations: the first of three works seems to begin last.
TEST(Idle, OfWorksThatSeemToOverlapIsThatOfTheNearestOffsets) {
  Iteration iteration;
  iteration.add(0, 100, 0);
  iteration.add(400, 100, 1, "first");
  iteration.add(440, 100, 1, "second");  // lies 100 us behind the first, so both are 80 us off
  iteration.add(700, 300, 1, "third");
  const auto idle = iteration.idle();
  ASSERT_TRUE(idle);
  expect_sum(*idle);
  const IdlePart& thread = part(*idle, IdleReason::kLaunchingThread);
  ASSERT_EQ(thread.behind.size(), 2U);
  EXPECT_EQ(thread.behind[0].place, "first");
  EXPECT_NEAR(thread.behind[0].us, 270, 1e-9);
  EXPECT_EQ(thread.behind[1].place, "third");
  EXPECT_NEAR(thread.behind[1].us, 130, 1e-9);
}

// The replay came late, its nodes did not: they wait for each other.
TEST(Idle, BeforeANodeIsTheLaunchingThreadsOnlyWhereItBeginsTheReplay) {
  Iteration iteration;
  iteration.add(0, 300, 0);
  for (const double start_us : {400.0, 552.0, 704.0}) {
    Row& node = iteration.add(start_us, 150, 1, "net");
    node.is_graph_node = true;
  }
  iteration.add(856, 144, 0);
  const auto idle = iteration.idle();
  ASSERT_TRUE(idle);
  expect_sum(*idle);
  EXPECT_NEAR(part(*idle, IdleReason::kLaunchingThread).us, 100, 1e-9);
  EXPECT_NEAR(part(*idle, IdleReason::kStarts).us, 6, 1e-9);
}

// Offsets that scatter say nothing of gaps of a microsecond.
TEST(Idle, BetweenNodesWhoseOffsetsScatterIsNone) {
  Iteration iteration;
  iteration.add(0, 300, 0);
  for (const double start_us : {400.0, 575.0, 685.0, 870.0}) {
    Row& node = iteration.add(start_us, 150, 1, "net");
    node.is_graph_node = true;
  }
  const auto idle = iteration.idle();
  ASSERT_TRUE(idle);
  expect_sum(*idle);
  EXPECT_NEAR(part(*idle, IdleReason::kLaunchingThread).us, 100, 10);
  EXPECT_EQ(part(*idle, IdleReason::kStarts).us, 0);
}

// What waits for another stream begins when that ends: the offset's error is no gap.
TEST(Idle, BeforeQueuedWorkIsTheNextLateLaunchsWhereItIsNoMoreThanAnError) {
  Iteration iteration;
  iteration.add(0, 300, 0);
  Row& queued = iteration.add(320, 280, 0);
  queued.stream_index = 1;
  queued.offset_ci95_us = Interval{280, 360};
  iteration.add(700, 300, 1, "late");
  const auto idle = iteration.idle();
  ASSERT_TRUE(idle);
  expect_sum(*idle);
  EXPECT_NEAR(part(*idle, IdleReason::kLaunchingThread).us, 120, 1e-9);
  EXPECT_EQ(part(*idle, IdleReason::kOtherStreams).us, 0);
}

// What stood in the queue follows what stands before it, whatever the offsets' errors.
TEST(Idle, BeforeQueuedWorkIsNoneWhereThereIsOneStream) {
  Iteration iteration;
  iteration.add(0, 200, 0);
  iteration.add(280, 200, 1, "late");  // 100 us late, less an error of 20
  iteration.add(530, 200, 0);          // 30 us too far back
  iteration.add(690, 200, 0);          // 10 us too far to the front
  const auto idle = iteration.idle(200);
  ASSERT_TRUE(idle);
  expect_sum(*idle);
  EXPECT_NEAR(part(*idle, IdleReason::kLaunchingThread).us, 100, 1e-9);
  EXPECT_NEAR(part(*idle, IdleReason::kStarts).us, 3, 1e-9) << "at the beginning";
}

// Medians of different iterations need not add up.
TEST(Idle, AddsUpWhateverTheGapsAre) {
  Iteration iteration;
  iteration.add(0, 300, 0);
  iteration.add(400, 600, 1);
  const auto less = iteration.idle(50);
  expect_sum(*less);
  EXPECT_NEAR(part(*less, IdleReason::kLaunchingThread).us, 50, 1e-9);
  const auto more = iteration.idle(120);
  expect_sum(*more);
  EXPECT_NEAR(part(*more, IdleReason::kNotKnown).us, 20, 1e-9);
}

TEST(Idle, IsNotKnownWhereTheFileDoesNotSayWhichLaunchesWereLate) {
  Iteration iteration;
  Row& row = iteration.add(100, 300, 0);
  row.queued = 0;
  EXPECT_FALSE(iteration.idle());
  iteration.add(500, 100, 1).any_occurrence = true;
  EXPECT_FALSE(iteration.idle()) << "a run without iterations";
}

TEST(Idle, OfTwoDevicesIsTheirMean) {
  Iteration iteration;
  iteration.add(0, 300, 0);
  iteration.add(400, 600, 1);
  Analysis& analysis = iteration.analysis();
  analysis.idle = {*iteration.idle(100), *iteration.idle(60)};
  const auto mean = mean_idle(analysis);
  ASSERT_TRUE(mean);
  EXPECT_NEAR(mean->idle_us, 80, 1e-9);
  EXPECT_NEAR(part(*mean, IdleReason::kLaunchingThread).us, 80, 1e-9);
  EXPECT_NEAR(part(*mean, IdleReason::kLaunchingThread).behind.front().us, 80, 1e-9);
  analysis.idle.clear();
  EXPECT_FALSE(mean_idle(analysis));
}

}  // namespace
}  // namespace inline_prof::join
