// Why a device is idle, of iterations whose gaps are known by hand.
#include "join/diagnose/idle.hpp"

#include "testing.hpp"

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

// A row of `length_us` whose launch came late in the part `late` of its samples.
struct Work {
  double start_us;
  double length_us;
  double late;
  std::string layer = "net";
  int stream = 0;
  std::optional<double> after_wait_us = {};
  bool is_graph_node = false;
  double offset_error_us = 1;
};

Work on_stream(int stream, Work work) {
  work.stream = stream;
  return work;
}
Work after_wait(double us, Work work) {
  work.after_wait_us = us;
  return work;
}
Work graph_node(double start_us) {
  return {.start_us = start_us, .length_us = 150, .late = 1, .is_graph_node = true};
}

// An iteration of 1000 us on one device.
class Scene {
 public:
  explicit Scene(const std::vector<Work>& works = {}) {
    runs_.emplace_back().iteration.us = 1000;
    for (const Work& work : works)
      add(work);
  }

  Row& add(const Work& work) {
    Row row;
    row.layer = work.layer;
    row.event = "kernel";
    row.start_index = static_cast<std::int64_t>(2 * rows_.size());
    row.end_index = row.start_index + 1;
    row.stream_index = work.stream;
    row.is_graph_node = work.is_graph_node;
    row.after_wait_us = work.after_wait_us;
    row.samples = kSamples;
    row.late = static_cast<std::size_t>(work.late * kSamples);
    row.queued = kSamples - row.late;
    row.offset_us = row.mean_offset_us = work.start_us;
    row.offset_ci95_us =
        Interval{work.start_us - work.offset_error_us, work.start_us + work.offset_error_us};
    row.corrected_us = row.in_iteration_us = work.length_us;
    row.raw_ci95_us = Interval{work.length_us - 1, work.length_us + 1};
    busy_us_ += work.length_us;
    rows_.push_back(row);
    return rows_.back();
  }

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
  const Idle idle =
      Scene({{0, 300, 0}, {400, 300, 1, "optimizer.AdamW"}, {702, 298, 0}}).idle();  // 100 us late
  const IdlePart& thread = part(idle, kLaunchingThread);
  EXPECT_NEAR(thread.us, 100, 1e-9);
  ASSERT_EQ(thread.behind.size(), 1U);
  EXPECT_EQ(thread.behind.front().place, "optimizer.AdamW");
  ASSERT_TRUE(thread.ci95_us);
  EXPECT_LT(thread.ci95_us->lower, 100);
  EXPECT_GT(thread.ci95_us->upper, 100);
  expect_us(idle, {{kStarts, 2}});  // the last row stood in the queue
  EXPECT_EQ(largest_part(idle)->reason, kLaunchingThread);
}

TEST(Idle, IsDividedByItsReasons) {
  const struct {
    const char* what;
    std::vector<Work> works;
    std::vector<std::pair<IdleReason, double>> parts;
    std::optional<double> idle_us = {};  // where it is not the iteration less the works
  } rows[]{
      {"as the samples are, with one stream and one rank",
       {{0, 300, 0}, {400, 600, 0.75}},
       {{kLaunchingThread, 75}, {kStarts, 3}, {kNotKnown, 22}}},
      {"before the first launch, and 150 us up to the end",
       {{50, 300, 1}, {350, 500, 0}},
       {{kBetweenIterations, 200}}},
      {"the same, 20 us of which the host waited after the device had run dry",
       {after_wait(180, {50, 300, 1}), {350, 500, 0}},
       {{kBetweenIterations, 180}, {kSynchronisation, 20}}},
      {"after a wait it is the wait's own, but not long after it",
       {{0, 300, 0}, after_wait(90, {400, 300, 1}), after_wait(450, {800, 200, 1})},
       {{kSynchronisation, 100}, {kLaunchingThread, 100}}},
      {"before queued work it is for other streams where there are some",
       {{0, 300, 0}, on_stream(1, {400, 600, 0})},
       {{kOtherStreams, 97}, {kStarts, 3}}},
      {"of streams beside each other, only what none works in",
       {{0, 500, 0}, on_stream(1, {100, 300, 1}), {600, 400, 1}},
       {{kLaunchingThread, 100}},
       100},
      {"the replay came late, its nodes did not: they wait for each other",
       {{0, 300, 0}, graph_node(400), graph_node(552), graph_node(704), {856, 144, 0}},
       {{kLaunchingThread, 100}, {kStarts, 6}}},
      {"a queued row begins when another stream ends: its offset's error is no gap",
       {{0, 300, 0},
        on_stream(1, {.start_us = 320, .length_us = 280, .late = 0, .offset_error_us = 40}),
        {700, 300, 1, "late"}},
       {{kLaunchingThread, 120}, {kOtherStreams, 0}}},
      // 100 us late, less an error of 20; then rows 30 us too far back, and 10 to the front.
      {"a row of the only stream that stood in the queue follows the one before it",
       {{0, 200, 0}, {280, 200, 1, "late"}, {530, 200, 0}, {690, 200, 0}},
       {{kLaunchingThread, 100}, {kStarts, 3}},
       200},
      {"less than the gaps, as medians of different iterations need not add up",
       {{0, 300, 0}, {400, 600, 1}},
       {{kLaunchingThread, 50}},
       50},
      {"more than the gaps",
       {{0, 300, 0}, {400, 600, 1}},
       {{kLaunchingThread, 100}, {kNotKnown, 20}},
       120},
  };
  for (const auto& [what, works, parts, idle_us] : rows) {
    SCOPED_TRACE(what);
    const Scene scene(works);
    expect_us(idle_us ? scene.idle(*idle_us) : scene.idle(), parts);
  }
}

TEST(Idle, AroundUnmeasuredWorkIsNotKnown) {
  Scene scene({{0, 100, 1}, {200, 100, 1}});  // 100 us late
  Row& unmeasured = scene.add({400, 0, 0});
  unmeasured.samples = unmeasured.late = unmeasured.queued = 0;
  unmeasured.offset_us.reset();
  unmeasured.mean_offset_us.reset();
  unmeasured.in_iteration_us = 200;  // as predicted
  const Idle idle = scene.idle(600);
  expect_us(idle, {{kLaunchingThread, 100}, {kBetweenIterations, 0}, {kNotKnown, 500}});
}

// Medians of different iterations: the first of three works seems to begin last.
TEST(Idle, OfWorksThatSeemToOverlapIsThatOfTheNearestOffsets) {
  // The second lies 100 us behind the first, so both are 80 us off.
  const Idle idle =
      Scene({{0, 100, 0}, {400, 100, 1, "first"}, {440, 100, 1, "second"}, {700, 300, 1, "third"}})
          .idle();
  const IdlePart& thread = part(idle, kLaunchingThread);
  ASSERT_EQ(thread.behind.size(), 2U);
  EXPECT_EQ(thread.behind[0].place, "first");
  EXPECT_NEAR(thread.behind[0].us, 270, 1e-9);
  EXPECT_EQ(thread.behind[1].place, "third");
  EXPECT_NEAR(thread.behind[1].us, 130, 1e-9);
}

// Offsets that scatter say nothing of gaps of a microsecond.
TEST(Idle, BetweenNodesWhoseOffsetsScatterIsNone) {
  Scene scene({{0, 300, 0}});
  for (const double start_us : {400.0, 575.0, 685.0, 870.0})
    scene.add(graph_node(start_us));
  const Idle idle = scene.idle();
  EXPECT_NEAR(part(idle, kLaunchingThread).us, 100, 10);
  expect_us(idle, {{kStarts, 0}});
}

TEST(Idle, IsNotKnownWhereTheFileDoesNotSayWhichLaunchesWereLate) {
  Scene scene;
  scene.add({100, 300, 0}).queued = 0;
  EXPECT_FALSE(scene.found(700));
  scene.add({500, 100, 1}).any_occurrence = true;
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
