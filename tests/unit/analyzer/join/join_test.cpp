#include "join/join.hpp"

#include "join/rows/row.hpp"
#include "profile_builder.hpp"
#include "testing.hpp"

namespace inline_prof::join {
namespace {

using test::calibration;

Analysis join_one(read::Profile profile, JoinOptions options = {}) {
  if (!options.machine) options.machine = toy_machine();
  std::vector<read::Profile> profiles;
  profiles.push_back(std::move(profile));
  return join_profiles(std::move(profiles), {}, options);
}

TEST(Join, TakesTheBiasOffAndComparesWithTheBound) {
  // memory: 4e6 bytes at 1e11 = 40 us; measured 65 - 5 = 60 us, 1.5 times the bound.
  read::Profile profile = profile_of({EventBuilder("copy", 0, 1)
                                          .layer("L")
                                          .samples_us({64, 65, 66})
                                          .op(memory_op(3000000, 1000000))},
                                     1000);
  profile.calibration = {calibration(0, read::PairState::kBusy, 5)};
  const Analysis analysis = join_one(profile);
  ASSERT_EQ(analysis.rows.size(), 1U);
  const Row& row = analysis.rows[0];
  EXPECT_NEAR(row.raw_us.value(), 65, 1e-9);
  EXPECT_FALSE(row.raw_ci95_us) << "three samples have no 95 % interval";
  EXPECT_NEAR(row.corrected_us.value(), 60, 1e-9);
  EXPECT_NEAR(row.predicted_us.value(), 40, 1e-9);
  EXPECT_NEAR(row.ratio.value(), 1.5, 1e-9);
  EXPECT_EQ(row.bound, "memory");
  EXPECT_EQ(row.model, "roofline");
  EXPECT_EQ(verdict_text(row), "1.5 of bound");
  EXPECT_NEAR(analysis.event_bias_us, 5, 1e-9);
  EXPECT_EQ(analysis.event_bias_source, "calibration");
  EXPECT_NEAR(analysis.errors.value().mape, 1.0 / 3.0, 1e-9);
  EXPECT_NEAR(analysis.errors->bias, -1.0 / 3.0, 1e-9);
}

TEST(Join, AnEventShorterThanTheBiasTakesNoTime) {
  read::Profile profile = profile_of({EventBuilder("a", 0, 1).samples_us({3})}, 1000);
  profile.calibration = {calibration(0, read::PairState::kBusy, 5)};
  const Analysis analysis = join_one(profile);
  EXPECT_DOUBLE_EQ(analysis.rows.at(0).corrected_us.value(), 0);
  EXPECT_THAT(analysis.warnings, ElementsAre(HasSubstr("shorter than what the event pair adds")));
}

TEST(Join, ARegionIsPredictedToTakeWhatItsChildrenTake) {
  // Children 40 us and 20 us; measured 90 us: 1.5 times the sum.
  const Analysis analysis =
      join_one(profile_of({EventBuilder("region", 0, 5).samples_us({90}),
                           EventBuilder("a", 1, 2).samples_us({45}).op(memory_op(4000000, 0)),
                           EventBuilder("b", 3, 4).samples_us({30}).op(memory_op(2000000, 0))},
                          1000));
  const Row& region = analysis.rows.at(0);
  EXPECT_TRUE(region.is_region);
  EXPECT_NEAR(region.predicted_us.value(), 60, 1e-9);
  EXPECT_EQ(region.model, "sum of children");
  EXPECT_EQ(verdict_text(region), "1.5 of bound");
  EXPECT_EQ(analysis.errors.value().rows, 2U) << "its children stand for it";
}

TEST(Join, ARegionIsNotPredictedIfAChildIsNot) {
  const Analysis analysis =
      join_one(profile_of({EventBuilder("region", 0, 5).samples_us({90}),
                           EventBuilder("a", 1, 2).samples_us({45}).op(memory_op(4000000, 0)),
                           EventBuilder("b", 3, 4).samples_us({30})},
                          1000));
  EXPECT_FALSE(analysis.rows.at(0).predicted_us);
  EXPECT_EQ(verdict_text(analysis.rows[0]), "no prediction: 1 of 2 children without prediction");
}

TEST(Join, ARegionWithAnOpStandsForChildrenThatNobodyKnows) {
  const Analysis analysis =
      join_one(profile_of({EventBuilder("region", 0, 3).samples_us({80}).op(memory_op(4000000, 0)),
                           EventBuilder("a", 1, 2).samples_us({70})},
                          100));
  EXPECT_NEAR(analysis.rows.at(0).predicted_us.value(), 40, 1e-9);
  EXPECT_EQ(analysis.errors.value().rows, 1U);
  EXPECT_NEAR(analysis.shares_percent.value().predicted, 80, 1e-9);
}

TEST(Join, WithoutAMachineThereIsAReportWithoutPredictions) {
  read::Profile profile =
      profile_of({EventBuilder("a", 0, 1).samples_us({10}).op(memory_op(1, 1))}, 100);
  read::Device device;
  device.name = "NVIDIA X1";
  profile.devices = {device};
  std::vector<read::Profile> profiles{profile};
  const Analysis analysis = join_profiles(std::move(profiles), {}, {});
  EXPECT_EQ(verdict_text(analysis.rows.at(0)), "no prediction: machine not known");
  EXPECT_EQ(analysis.machine, "");
  EXPECT_EQ(analysis.machine_reason, "device 0 is \"NVIDIA X1\", which no machine file names");
  EXPECT_FALSE(analysis.errors);
}

TEST(Join, EveryDeviceHasItsOwnMachine) {
  read::Machine fast = toy_machine();
  fast.id = "fast";
  fast.names = {"Fast GPU"};
  fast.memory_gb_per_s = 400;
  const std::vector<read::Machine> known{toy_machine(), fast};
  read::Profile profile =
      profile_of({EventBuilder("a", 0, 1).device(0).samples_us({60}).op(memory_op(4000000, 0)),
                  EventBuilder("a", 2, 3).device(1).samples_us({60}).op(memory_op(4000000, 0))},
                 100);
  profile.devices.resize(2);
  profile.devices[0].name = "Toy GPU";
  profile.devices[1].device_id = 1;
  profile.devices[1].name = "Fast GPU";
  const Analysis analysis = join_profiles({profile}, known, {});
  EXPECT_EQ(analysis.machine, "fast,toy");
  EXPECT_NEAR(analysis.rows.at(0).predicted_us.value(), 40, 1e-9);
  EXPECT_NEAR(analysis.rows.at(1).predicted_us.value(), 20, 1e-9);
  EXPECT_NEAR(analysis.merged.at(0).predicted_us.value(), 30, 1e-9);
}

TEST(Join, TheSameEventOfAllDevicesIsOneMergedRow) {
  const Analysis analysis =
      join_one(profile_of({EventBuilder("a", 0, 1).device(0).samples_us({10, 12}),
                           EventBuilder("a", 2, 3).device(1).samples_us({20, 22}),
                           EventBuilder("a", 4, 5).device(0).occurrence(1).samples_us({30}),
                           EventBuilder("a", 6, 7).device(0).stream(1).samples_us({40})},
                          1000));
  ASSERT_EQ(analysis.merged.size(), 3U);
  const MergedRow& both = analysis.merged[0];
  EXPECT_THAT(both.rows, ElementsAre(0, 1));
  EXPECT_NEAR(both.raw_us.value(), 16, 1e-5) << "median of 10, 12, 20, 22, kept as floats";
  EXPECT_NEAR(both.slowest_us.value(), 21, 1e-9);
}

TEST(Join, OffsetsBeyondTheIterationAreCounted) {
  const Analysis analysis =
      join_one(profile_of({EventBuilder("a", 0, 1).samples_us({10, 10}).offset_us(5),
                           EventBuilder("b", 2, 3).samples_us({10, 10, 10}).offset_us(600000)},
                          100));
  EXPECT_EQ(analysis.dropped_offsets, 3U);
  EXPECT_NEAR(analysis.rows.at(0).offset_us.value(), 5, 1e-9);
  EXPECT_FALSE(analysis.rows.at(1).offset_us);
}

TEST(Join, RulesThatFitNothingAreNamed) {
  JoinOptions options;
  options.layers = read::Layers{.file = "l.json",
                                .rules = {{.match = "nothing*", .layer = "x", .op = std::nullopt}}};
  const Analysis analysis =
      join_one(profile_of({EventBuilder("a", 0, 1).samples_us({10})}, 100), options);
  EXPECT_THAT(analysis.warnings, Contains("p.json: rule 0 of l.json (\"nothing*\") fits no event"));
}

TEST(Join, RanksOfDifferentProgramsAreNoticed) {
  const auto program = [](std::vector<read::Event> events) {
    read::Profile profile = profile_of(std::move(events), 100);
    profile.profiler.event_list_hash = profile.events.front().name;
    return profile;
  };
  const EventBuilder first("a", 0, 1);
  const EventBuilder second("b", 2, 3);
  const auto others = Contains(HasSubstr("2 different event lists"));
  EXPECT_THAT(join_profiles({program({first}), program({second})}, {}, {}).warnings, others);
  EXPECT_THAT(join_profiles({program({first, second}), program({second, first})}, {}, {}).warnings,
              Not(others))
      << "the order is no difference";
}

TEST(Join, AFileWithoutEventsIsAReportWithoutRows) {
  const Analysis analysis = join_one(profile_of({}, 100));
  EXPECT_THAT(analysis.rows, IsEmpty());
  EXPECT_FALSE(analysis.shares_percent);
  EXPECT_EQ(analysis.shares_reason, "no events");
}

TEST(Verdict, OnlyAnIntervalCanCallARowSlow) {
  EXPECT_EQ(judge(30, 20, std::nullopt, {}), Verdict::kAboveBound);
  EXPECT_EQ(verdict_text(Verdict::kAboveBound, 1.5, ""), "1.5 of bound");
  EXPECT_EQ(judge(30, 20, Interval{18, 22}, {}), Verdict::kSlower);
  EXPECT_EQ(judge(17, 20, Interval{18, 22}, {}), Verdict::kFaster);
  EXPECT_EQ(judge(21, 20, Interval{18, 22}, {}), Verdict::kAsPredicted);
}

TEST(Verdict, ATimeThatHoldsLaunchingCallsNoRowSlow) {
  const Doubts late{.may_hold_launching = true};
  EXPECT_EQ(judge(30, 20, std::nullopt, late), Verdict::kUpperBound);
  EXPECT_EQ(judge(30, 20, Interval{18, 22}, late), Verdict::kUpperBound);
  EXPECT_EQ(judge(17, 20, Interval{18, 22}, late), Verdict::kFaster) << "even so";
  EXPECT_EQ(verdict_text(Verdict::kUpperBound, 1.5, ""), "upper bound");
}

TEST(Verdict, OfOneKernelTheLaunchTakesFewMicroseconds) {
  Row row;
  row.samples = row.not_tight = 3;
  row.predicted_us = 20;
  row.is_one_launch = true;
  EXPECT_TRUE(may_hold_launching(row, 29));
  EXPECT_FALSE(may_hold_launching(row, 31)) << "so long is no launch";
  row.is_one_launch = false;
  EXPECT_TRUE(may_hold_launching(row, 31)) << "of several launches who knows";
  row.not_tight = 1;
  EXPECT_FALSE(may_hold_launching(row, 29));
}

}  // namespace
}  // namespace inline_prof::join
