#include "schedule/plan.hpp"

#include "schedule/select.hpp"
#include "testing.hpp"

namespace inline_prof::schedule {
namespace {

std::vector<std::size_t> events_of(const Plan& plan, std::int64_t first, std::int64_t count) {
  std::vector<std::size_t> events;
  for (std::int64_t i = first; i < first + count; ++i)
    events.push_back(plan.event_at(i).value_or(99));
  return events;
}

TEST(Plan, StartsInTheIterationAfterTheWarmup) {
  const Plan plan(1, 10, 1, Policy::kInOrder, 1);
  EXPECT_EQ(plan.event_at(10), std::nullopt);
  EXPECT_EQ(plan.event_at(11), 0U);
  EXPECT_EQ(plan.event_at(12), std::nullopt);
  EXPECT_EQ(plan.last_iteration(), 11);
}

TEST(Plan, InOrderFinishesAnEventBeforeTheNext) {
  const Plan plan(3, 0, 2, Policy::kInOrder, 1);
  EXPECT_THAT(events_of(plan, 1, 6), ElementsAre(0, 0, 1, 1, 2, 2));
}

// Ranks built by different compilers, today and in a year, must give this very order; computed
// apart, from the two algorithms that plan.cpp cites.
TEST(Plan, InterleavedOrderIsTheSameEverywhere) {
  const Plan plan(5, 0, 3, Policy::kInterleaved, 1);
  EXPECT_THAT(events_of(plan, 1, 15), ElementsAre(2, 1, 4, 3, 0, 2, 4, 3, 0, 1, 1, 3, 4, 2, 0));
}

// A run that ends early has measured each event before it measures one again, the large ones first;
// events of one size, and the later rounds, stay shuffled.
TEST(Plan, InterleavedBeginsWithTheLargeEvents) {
  const Plan plan(5, {.warmup = 0, .repeat = 3, .policy = Policy::kInterleaved}, {1, 7, 1, 9, 1});
  EXPECT_THAT(events_of(plan, 1, 15), ElementsAre(3, 1, 2, 4, 0, 2, 4, 3, 0, 1, 1, 3, 4, 2, 0));
}

TEST(Plan, InterleavedMeasuresEveryEventOnceARound) {
  constexpr std::size_t event_count = 7;
  const Plan plan(event_count, 3, 20, Policy::kInterleaved, 42);
  std::set<std::vector<std::size_t>> orders;
  for (std::int64_t round = 0; round < 20; ++round) {
    const auto order = events_of(plan, 4 + round * 7, 7);
    EXPECT_EQ(std::set<std::size_t>(order.begin(), order.end()).size(), event_count);
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 15U);  // of 5040 orders: the rounds are shuffled anew
}

// Each of three events comes first in a third of 3000 rounds: 1000, standard deviation 26.
TEST(Plan, InterleavedFavoursNoEvent) {
  const Plan plan(3, 0, 3000, Policy::kInterleaved, 7);
  std::vector<int> first_count(3, 0);
  for (std::int64_t round = 0; round < 3000; ++round)
    ++first_count[*plan.event_at(1 + round * 3)];
  for (const int count : first_count)
    EXPECT_NEAR(count, 1000, 130);
}

TEST(Plan, SeedChangesTheInterleavedOrderOnly) {
  const auto order = [](Policy policy, std::uint64_t seed) {
    return events_of(Plan(10, 0, 5, policy, seed), 1, 50);
  };
  EXPECT_NE(order(Policy::kInterleaved, 1), order(Policy::kInterleaved, 2));
  EXPECT_EQ(order(Policy::kInOrder, 1), order(Policy::kInOrder, 2));
}

struct Size {
  std::size_t events;
  std::int64_t warmup, repeat;
};

class PlanOfAnySize : public TestWithParam<std::tuple<Policy, Size>> {};

TEST_P(PlanOfAnySize, MeasuresEveryEventExactlyAsOftenAsAsked) {
  const auto [policy, size] = GetParam();
  const Plan plan(size.events, size.warmup, size.repeat, policy, 3);
  std::vector<std::int64_t> count(size.events, 0);
  for (std::int64_t i = -5; i <= plan.last_iteration() + 5; ++i) {
    const auto event = plan.event_at(i);
    ASSERT_EQ(event.has_value(), i > size.warmup && i <= plan.last_iteration()) << i;
    if (event) ++count.at(*event);
  }
  for (std::size_t event = 0; event < size.events; ++event) {
    EXPECT_EQ(count[event], size.repeat);
    EXPECT_EQ(plan.samples_of(event), size.repeat);
  }
  EXPECT_EQ(plan.sample_count(), static_cast<std::int64_t>(size.events) * size.repeat);
  EXPECT_EQ(plan.last_iteration(), size.warmup + plan.sample_count());
}

INSTANTIATE_TEST_SUITE_P(Small, PlanOfAnySize,
                         Combine(Values(Policy::kInOrder, Policy::kInterleaved),
                                 Values(Size{0, 10, 50}, Size{1, 0, 1}, Size{1, 10, 50},
                                        Size{2, 10, 3}, Size{64, 10, 50}, Size{1000, 1, 2})));

TEST(Plan, OfNothingMeasuresNothing) {
  const Plan plan;
  EXPECT_EQ(plan.event_at(1), std::nullopt);
  EXPECT_EQ(plan.sample_count(), 0);
  EXPECT_EQ(plan.samples_of(0), 0);
}

TEST(Plan, AnswersForEveryIterationNumber) {
  constexpr auto lowest = std::numeric_limits<std::int64_t>::min();
  constexpr auto highest = std::numeric_limits<std::int64_t>::max();
  for (const Plan& plan : {Plan(), Plan(3, 10, 2, Policy::kInOrder, 1),
                           Plan(3, 10, 2, Policy::kInterleaved, 1), Plan(1, 10, {{12, 0}})}) {
    EXPECT_EQ(plan.event_at(lowest), std::nullopt);
    EXPECT_EQ(plan.event_at(0), std::nullopt);
    EXPECT_EQ(plan.event_at(highest), std::nullopt);
  }
}

TEST(GivenPlan, FollowsItsTurnsAndLeavesGaps) {
  const Plan plan(2, 10, {{11, 1}, {13, 0}, {20, 1}});
  EXPECT_EQ(plan.event_at(11), 1U);
  EXPECT_EQ(plan.event_at(12), std::nullopt);
  EXPECT_EQ(plan.event_at(13), 0U);
  EXPECT_EQ(plan.event_at(20), 1U);
  EXPECT_EQ(plan.event_at(21), std::nullopt);
  EXPECT_EQ(plan.last_iteration(), 20);
  EXPECT_EQ(plan.sample_count(), 3);
  EXPECT_EQ(plan.samples_of(1), 2);
}

TEST(GivenPlan, RefusesTurnsThatItCannotFollow) {
  EXPECT_THROW(Plan(1, 10, {{10, 0}}), std::invalid_argument);
  EXPECT_THROW(Plan(1, 10, {{11, 0}, {11, 0}}), std::invalid_argument);
  EXPECT_THROW(Plan(1, 10, {{11, 1}}), std::invalid_argument);
}

TEST(Plan, RefusesWhatNobodyCanMeasure) {
  EXPECT_EQ(inline_prof::test::complaint([] { return Plan(1, 10, 1, Policy::kAdaptive, 1); }),
            "policy adaptive chooses as it measures: no plan can be made beforehand");
  EXPECT_EQ(
      inline_prof::test::complaint([] { return Plan(100'000, 10, 50, Policy::kInterleaved, 1); }),
      "100000 events with 50 samples each, expected at most 4000000 samples: name fewer "
      "events or lower the number of repeats");
}

// The original generator's dictionary: layer by layer, each event `repeat` times in a row, with the
// layer's number for the direction the event is listed under.
TEST(Expand, WritesTheOriginalsSchedule) {
  Spec spec;
  spec.layers = {{.layer = "BottomMLP.fc1",
                  .forward_events = {"fc.fprop", "fc.fprop.gemm"},
                  .backward_events = {"fc.bprop"},
                  .forward_occurrence = 0,
                  .backward_occurrence = 6},
                 {.layer = "interaction1"},
                 {.layer = "TopMLP.fc7",
                  .forward_events = {"fc.fprop"},
                  .backward_events = {"fc.bprop"},
                  .forward_occurrence = 6,
                  .backward_occurrence = 0},
                 {.layer = "off", .forward_events = {"x"}, .enabled = false}};
  const SampleList list =
      expand(listed_events(spec), {.warmup = 10, .repeat = 2, .policy = Policy::kInOrder});
  EXPECT_EQ(list.warmup, 10);
  const EventKey fprop1{"fc.fprop", "BottomMLP.fc1", 0};
  const EventKey gemm1{"fc.fprop.gemm", "BottomMLP.fc1", 0};
  const EventKey bprop1{"fc.bprop", "BottomMLP.fc1", 6};
  const EventKey fprop7{"fc.fprop", "TopMLP.fc7", 6};
  const EventKey bprop7{"fc.bprop", "TopMLP.fc7", 0};
  EXPECT_THAT(list.samples, ElementsAre(Sample{11, fprop1}, Sample{12, fprop1}, Sample{13, gemm1},
                                        Sample{14, gemm1}, Sample{15, bprop1}, Sample{16, bprop1},
                                        Sample{17, fprop7}, Sample{18, fprop7}, Sample{19, bprop7},
                                        Sample{20, bprop7}));
}

TEST(Expand, RefusesAnEmptyRequest) {
  EXPECT_EQ(inline_prof::test::complaint([] { return expand({}, Settings{}); }),
            "no event to measure, expected at least one event in an enabled layer");
}

}  // namespace
}  // namespace inline_prof::schedule
