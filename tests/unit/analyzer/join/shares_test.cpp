#include "joined_profiles.hpp"
#include "testing.hpp"

namespace inline_prof::join {
namespace {

using test::joined;

constexpr double kTolerance = 1e-9;

void expect_shares(const Analysis& analysis, const Shares& expected) {
  ASSERT_TRUE(analysis.shares_percent) << analysis.shares_reason;
  const Shares& shares = *analysis.shares_percent;
  EXPECT_NEAR(shares.predicted, expected.predicted, kTolerance);
  EXPECT_NEAR(shares.measured, expected.measured, kTolerance);
  EXPECT_NEAR(shares.seen, expected.seen, kTolerance);
  EXPECT_NEAR(shares.idle, expected.idle, kTolerance);
  EXPECT_NEAR(shares.predicted + shares.measured + shares.seen + shares.idle, 100, kTolerance);
}

TEST(Shares, AddUpToTheIteration) {
  // 200 us: 50 predicted, 30 measured, the rest idle.
  const Analysis analysis =
      joined(profile_of({EventBuilder("a", 0, 1).samples_us({50}).op(memory_op(1, 1)),
                         EventBuilder("b", 2, 3).samples_us({30})},
                        200));
  expect_shares(analysis, {.predicted = 25, .measured = 15, .seen = 0, .idle = 60});
  EXPECT_NEAR(analysis.shares_us.value().idle, 120, kTolerance);
  EXPECT_NEAR(analysis.merged.at(0).share_percent.value(), 25, kTolerance);
}

TEST(Shares, OfRegionsCallsAndStreams) {
  const EventBuilder whole_run = EventBuilder("a", 0, 1).calls(30).flag("any_occurrence");
  const struct {
    const char* what;
    std::vector<read::Event> events;
    double iteration_us;
    Shares shares;
  } rows[] = {{"what a region's child leaves is measured without a prediction",
               {EventBuilder("region", 0, 3).samples_us({80}),
                EventBuilder("a", 1, 2).samples_us({50}).op(memory_op(1, 1))},
               100,
               {.predicted = 50, .measured = 30, .seen = 0, .idle = 20}},
              {"60 + 40 us in a region of 50: 30 predicted, 20 measured",
               {EventBuilder("region", 0, 5).samples_us({50}),
                EventBuilder("a", 1, 2).samples_us({60}).op(memory_op(1, 1)),
                EventBuilder("b", 3, 4).samples_us({40})},
               100,
               {.predicted = 30, .measured = 20, .seen = 0, .idle = 50}},
              {"a region that was not measured is transparent",
               {EventBuilder("region", 0, 3), EventBuilder("a", 1, 2).samples_us({40})},
               100,
               {.predicted = 0, .measured = 40, .seen = 0, .idle = 60}},
              {"calls multiply",
               {EventBuilder("a", 0, 1).samples_us({10}).calls(4)},
               100,
               {.predicted = 0, .measured = 40, .seen = 0, .idle = 60}},
              {"without iterations the whole run is one, with the event 30 times at 10 us",
               {EventBuilder(whole_run).samples_us({10})},
               1000,
               {.predicted = 0, .measured = 30, .seen = 0, .idle = 70}},
              {"calls of different sizes take their mean, 20 us",
               {EventBuilder(whole_run).samples_us({10, 10, 40})},
               1000,
               {.predicted = 0, .measured = 60, .seen = 0, .idle = 40}},
              {"streams from 0 to 40 us and from 20 to 60 count their moment once",
               {EventBuilder("a", 0, 1).samples_us({40}).offset_us(0).op(memory_op(1, 1)),
                EventBuilder("b", 2, 3).stream(1).samples_us({40}).offset_us(20)},
               100,
               {.predicted = 30, .measured = 30, .seen = 0, .idle = 40}},
              {"the mean over devices",
               {EventBuilder("a", 0, 1).device(0).samples_us({40}),
                EventBuilder("a", 2, 3).device(1).samples_us({60})},
               100,
               {.predicted = 0, .measured = 50, .seen = 0, .idle = 50}}};
  for (const auto& [what, events, iteration_us, shares] : rows) {
    SCOPED_TRACE(what);
    expect_shares(joined(profile_of(events, iteration_us)), shares);
  }
}

TEST(Shares, AnUnmeasuredEventLastsAsLongAsItsKernelElsewhere) {
  const Analysis analysis = joined(profile_of(
      {EventBuilder("a", 0, 1).kernel("k").samples_us({10}), EventBuilder("b", 2, 3).kernel("k"),
       EventBuilder("c", 4, 5).op(memory_op(2000000, 0)), EventBuilder("d", 6, 7)},
      100));
  // b 10 us as a; c 20 us as predicted; d unknown.
  expect_shares(analysis, {.predicted = 0, .measured = 10, .seen = 30, .idle = 60});
  EXPECT_EQ(analysis.unmeasured_events, 3U);
  EXPECT_EQ(analysis.unmeasured_without_time, 1U);
}

// One kernel adds tensors of any size, and the optimizer's step begins with it.
TEST(Shares, AnUnmeasuredEventLastsLongerThanItsKernelElsewhereAsPredicted) {
  const Analysis analysis = joined(
      profile_of({EventBuilder("a", 0, 1).kernel("k").op(memory_op(2000000, 0)).samples_us({30}),
                  EventBuilder("b", 2, 3).kernel("k").op(memory_op(4000000, 0))},
                 1000));
  // 20 and 40 us are predicted: b takes twice as long as a.
  expect_shares(analysis, {.predicted = 3, .measured = 0, .seen = 6, .idle = 91});
}

TEST(Shares, AnUnmeasuredKernelDoesNotLastAsLongAsAStepThatBeginsWithIt) {
  auto profile = profile_of(
      {EventBuilder("step", 0, 1).kernel("k").samples_us({500}),
       EventBuilder("a", 2, 3).kernel("k"), EventBuilder("b", 4, 5).kernel("k").samples_us({10})},
      1000);
  profile.events[0].kernel_names = {"k", "l"};
  for (const std::size_t alone : {1U, 2U})
    profile.events[alone].launch.grid = {1, 1, 1};
  expect_shares(joined(profile), {.predicted = 0, .measured = 51, .seen = 1, .idle = 48});
}

TEST(Shares, MoreThanTheIterationIsScaledWithAWarning) {
  const Analysis analysis =
      joined(profile_of({EventBuilder("a", 0, 1).samples_us({150}).op(memory_op(1, 1)),
                         EventBuilder("b", 2, 3).samples_us({50})},
                        100));
  expect_shares(analysis, {.predicted = 75, .measured = 25, .seen = 0, .idle = 0});
  EXPECT_THAT(analysis.warnings, Contains(HasSubstr("scaled down to 100 %")));
}

TEST(Shares, AHairAboveTheIterationIsNoWarning) {
  const Analysis analysis = joined(profile_of({EventBuilder("a", 0, 1).samples_us({100.05})}, 100));
  expect_shares(analysis, {.predicted = 0, .measured = 100, .seen = 0, .idle = 0});
  EXPECT_THAT(analysis.warnings, IsEmpty());
}

TEST(Shares, DeepNestingTakesNoStack) {
  std::vector<read::Event> events;
  constexpr std::int64_t depth = 100000;
  for (std::int64_t i = 0; i < depth; ++i)
    events.push_back(EventBuilder("r", i, 2 * depth - i).samples_us({10}));
  expect_shares(joined(profile_of(events, 100)),
                {.predicted = 0, .measured = 10, .seen = 0, .idle = 90});
}

TEST(Shares, NothingIsAShareOfNoTime) {
  const Analysis analysis = joined(profile_of({EventBuilder("a", 0, 1).samples_us({10})}, 0));
  EXPECT_FALSE(analysis.shares_percent);
}

TEST(Shares, NeedIterationTimes) {
  read::Profile profile = profile_of({EventBuilder("a", 0, 1).samples_us({10})}, 100);
  profile.iter_time_ms.clear();
  const Analysis analysis = joined(profile);
  EXPECT_FALSE(analysis.shares_percent);
  EXPECT_EQ(analysis.shares_reason, "p.json has no iteration times");
}

}  // namespace
}  // namespace inline_prof::join
