// The time that the iteration saves if a row meets its prediction, on runs that can be followed by
// hand.
#include "joined_profiles.hpp"
#include "testing.hpp"

namespace inline_prof::join {
namespace {

using test::joined_together;

constexpr double kToleranceUs = 1e-9;

// The toy machine moves 100 GB/s, so this many bytes take that many microseconds.
read::Op taking_us(std::int64_t time_us) {
  return memory_op(time_us * 100000, 0);
}

read::Op all_reduce(std::int64_t sequence) {
  return {
      .kind = "collective",
      .source = "test",
      .attributes = {
          {"op", std::string("all_reduce")}, {"comm", std::string("c")}, {"sequence", sequence}}};
}

double saved(const Analysis& analysis, const std::string& event) {
  for (const MergedRow& row : analysis.merged)
    if (row.event == event) return row.saved_us_if_predicted.value_or(-1);
  return -2;
}

TEST(WorthFixing, OnOneStreamALayerSavesWhatItIsTooSlow) {
  const Analysis analysis =
      joined_together({profile_of({EventBuilder("a", 0, 1).samples_us({50}).op(taking_us(30)),
                                   EventBuilder("b", 2, 3).samples_us({40}).op(taking_us(35)),
                                   EventBuilder("c", 4, 5).samples_us({20}).op(taking_us(25)),
                                   EventBuilder("d", 6, 7).samples_us({10})},
                                  150)});
  EXPECT_NEAR(saved(analysis, "a"), 20, kToleranceUs);
  EXPECT_NEAR(saved(analysis, "b"), 5, kToleranceUs);
  EXPECT_EQ(saved(analysis, "c"), 0);   // faster than predicted: nothing to gain
  EXPECT_EQ(saved(analysis, "d"), -1);  // not known
  EXPECT_NEAR(analysis.longest_path_us.value(), 120, kToleranceUs);
  EXPECT_NEAR(analysis.all_predicted_us.value(), 95, kToleranceUs);
}

TEST(WorthFixing, ALayerBehindAnotherStreamSavesNothing) {
  // Stream 0 runs from 0 to 100; stream 1 from 10 to 60, though 20 us would do.
  const Analysis analysis = joined_together({profile_of(
      {EventBuilder("long", 0, 1).samples_us({100}).offset_us(0).op(taking_us(80)),
       EventBuilder("hidden", 2, 3).stream(1).samples_us({50}).offset_us(10).op(taking_us(20))},
      100)});
  EXPECT_EQ(saved(analysis, "hidden"), 0);
  EXPECT_NEAR(saved(analysis, "long"), 20, kToleranceUs);
}

// One stream: after the fork a branch of 30 us and one of two times 10 us, then the join.
read::Profile forked() {
  std::vector<read::Event> events;
  const auto add = [&](const std::string& name, double offset_us, double time_us) {
    const auto index = static_cast<std::int64_t>(2 * events.size());
    events.push_back(EventBuilder(name, index, index + 1)
                         .in_graph()
                         .flag("graph_node")
                         .samples_us({time_us})
                         .offset_us(offset_us)
                         .op(taking_us(5)));
  };
  add("fork", 0, 10);
  add("long", 10, 30);
  add("short 1", 10, 10);
  add("short 2", 20, 10);
  add("join", 40, 10);
  return profile_of(std::move(events), 50);
}

TEST(WorthFixing, BranchesOfAGraphRunBesideEachOther) {
  const Analysis analysis = joined_together({forked()});
  EXPECT_NEAR(analysis.longest_path_us.value(), 50, kToleranceUs);
  EXPECT_EQ(saved(analysis, "short 1"), 0) << "hidden";
  EXPECT_NEAR(saved(analysis, "long"), 20, kToleranceUs) << "until the other branch ends";
  EXPECT_NEAR(saved(analysis, "join"), 5, kToleranceUs);
  ASSERT_TRUE(analysis.shares_us);
  EXPECT_TRUE(analysis.warnings.empty()) << "their times are shared out, not scaled down";
}

TEST(WorthFixing, WorkThatStartsWhenAnotherStreamEndsWaitsForIt) {
  // b on stream 1 starts 2 us after a on stream 0 has ended, c on stream 0 1 us after b: a chain.
  const Analysis analysis = joined_together({profile_of(
      {EventBuilder("a", 0, 1).samples_us({40}).offset_us(0).op(taking_us(30)),
       EventBuilder("b", 2, 3).stream(1).samples_us({60}).offset_us(42).op(taking_us(20)),
       EventBuilder("c", 4, 5).samples_us({10}).offset_us(103)},
      120)});
  EXPECT_NEAR(analysis.longest_path_us.value(), 113, kToleranceUs);
  EXPECT_NEAR(saved(analysis, "a"), 10, kToleranceUs);
  EXPECT_NEAR(saved(analysis, "b"), 40, kToleranceUs);
}

TEST(WorthFixing, BehindAGapOfTheHostNothingMoves) {
  const auto late = [](read::Tight tight) {
    return profile_of(
        {EventBuilder("a", 0, 1).samples_us({40}).offset_us(0).op(taking_us(30)).tight({tight}),
         EventBuilder("b", 2, 3).samples_us({10}).offset_us(90).tight({tight})},
        100);
  };
  // The GPU had caught up: b came when the host launched it.
  EXPECT_EQ(saved(joined_together({late(read::Tight::kNo)}), "a"), 0);
  // The GPU was busy with something that was not seen, which comes earlier, too.
  EXPECT_NEAR(saved(joined_together({late(read::Tight::kYes)}), "a"), 10, kToleranceUs);
}

// Iterations take 100 or 200 us, and a sample of each event comes from a slow one: medians of the
// starts would put the first event's end behind the iteration's.
TEST(WorthFixing, ThePathIsNoLongerThanTheIterationWhereIterationsDiffer) {
  read::Event first = EventBuilder("a", 0, 1)
                          .samples_us({10, 10, 10})
                          .tight({read::Tight::kNo, read::Tight::kNo, read::Tight::kNo});
  read::Event second = first;
  second.name = "b";
  second.start_index = 2;
  second.end_index = 3;
  first.offsets_ms = {0.18, 0.09, 0.18};
  first.iterations = {11, 12, 13};
  second.offsets_ms = {0.095, 0.095, 0.095};
  second.iterations = {14, 15, 16};
  read::Profile profile = profile_of({first, second}, 100);
  profile.phases = {{.stretches = {{1, 19}}}};
  // Two more follow the last sample, as while the overhead is measured.
  profile.iter_time_ms = {0.2, 0.1, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1};
  EXPECT_LE(joined_together({profile}).longest_path_us.value(), 112);
  // Two lie before the first sample: no sample begins behind the end of its own iteration.
  profile.iter_time_ms = {0.1, 0.1, 0.2, 0.1, 0.2, 0.1, 0.1, 0.1};
  EXPECT_LE(joined_together({profile}).longest_path_us.value(), 112);
}

TEST(WorthFixing, APartOfARegionShortensTheRegion) {
  const Analysis analysis =
      joined_together({profile_of({EventBuilder("region", 0, 5).samples_us({80}),
                                   EventBuilder("a", 1, 2).samples_us({50}).op(taking_us(20)),
                                   EventBuilder("b", 3, 4).samples_us({20}).op(taking_us(15))},
                                  100)});
  EXPECT_NEAR(saved(analysis, "a"), 30, kToleranceUs);
  EXPECT_NEAR(saved(analysis, "b"), 5, kToleranceUs);
  EXPECT_NEAR(analysis.all_predicted_us.value(), 45, kToleranceUs);
}

TEST(WorthFixing, ARankThatWaitsInACollectiveSavesNothing) {
  // Rank 0 is ready after 20 us and waits; rank 1 after 60; the transfer takes 10.
  const Analysis analysis = joined_together(
      {profile_of({EventBuilder("early", 0, 1).samples_us({20}).offset_us(0).op(taking_us(10)),
                   EventBuilder("reduce", 2, 3).samples_us({50}).offset_us(20).op(all_reduce(1))},
                  70),
       profile_of({EventBuilder("late", 0, 1).samples_us({60}).offset_us(0).op(taking_us(40)),
                   EventBuilder("reduce", 2, 3).samples_us({10}).offset_us(60).op(all_reduce(1))},
                  70)});
  EXPECT_NEAR(analysis.longest_path_us.value(), 70, kToleranceUs);
  EXPECT_EQ(saved(analysis, "early"), 0);
  EXPECT_NEAR(saved(analysis, "late"), 20, kToleranceUs);
}

TEST(WorthFixing, OneSlowDeviceOfTwoDecides) {
  const auto rank = [](double time_us) {
    return profile_of({EventBuilder("a", 0, 1).samples_us({time_us}).op(taking_us(30)),
                       EventBuilder("reduce", 2, 3).samples_us({10}).op(all_reduce(1))},
                      100);
  };
  EXPECT_NEAR(saved(joined_together({rank(50), rank(30)}), "a"), 20, kToleranceUs);
}

TEST(WorthFixing, RanksThatDisagreeOnTheOrderAreTakenAlone) {
  const auto rank = [](std::int64_t first, std::int64_t second) {
    return profile_of({EventBuilder("x", 0, 1).samples_us({10}).op(all_reduce(first)),
                       EventBuilder("y", 2, 3).samples_us({10}).op(all_reduce(second))},
                      30);
  };
  const Analysis analysis = joined_together({rank(1, 2), rank(2, 1)});
  EXPECT_NEAR(analysis.longest_path_us.value(), 20, kToleranceUs);
  EXPECT_THAT(analysis.warnings, Contains(HasSubstr("could not be put into one order")));
}

TEST(WorthFixing, WithoutIterationsThereIsNoPath) {
  const Analysis analysis = joined_together({profile_of(
      {EventBuilder("a", 0, 1).samples_us({50}).op(taking_us(30)).flag("any_occurrence")}, 1000)});
  EXPECT_FALSE(analysis.longest_path_us);
  EXPECT_EQ(analysis.longest_path_reason, "the run had no iterations");
}

}  // namespace
}  // namespace inline_prof::join
