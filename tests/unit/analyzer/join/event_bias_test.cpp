#include "join/rows/event_bias.hpp"

#include "profile_builder.hpp"
#include "testing.hpp"

namespace inline_prof::join {
namespace {

using read::PairState;
using read::Tight;
using test::calibration;

read::Profile calibrated() {
  read::Profile profile = profile_of({}, 1000);
  profile.calibration = {calibration(0, PairState::kBusy, 5), calibration(0, PairState::kIdle, 7),
                         calibration(0, PairState::kGraph, 2)};
  return profile;
}

const read::Event kMixed = EventBuilder("a", 0, 1)
                               .samples_us({10, 10, 10})
                               .tight({Tight::kYes, Tight::kNo, Tight::kUnknown});

TEST(EventBias, FollowsTheStateOfTheSample) {
  const EventBias bias({}, calibrated(), {});
  EXPECT_EQ(bias.source(), "calibration");
  EXPECT_DOUBLE_EQ(bias.of_sample_us(kMixed, 0), 5) << "tight: queued behind work";
  EXPECT_DOUBLE_EQ(bias.of_sample_us(kMixed, 1), 7) << "not tight: the stream was empty";
  EXPECT_DOUBLE_EQ(bias.of_sample_us(kMixed, 2), 5) << "not known: busy";
}

TEST(EventBias, NodesOfGraphsHaveTheirOwn) {
  const EventBias bias({}, calibrated(), {});
  EXPECT_DOUBLE_EQ(bias.of_sample_us(EventBuilder("n", 0, 1).in_graph().flag("graph_node"), 0), 2);
  EXPECT_DOUBLE_EQ(bias.of_sample_us(EventBuilder("g", 0, 1).in_graph().flag("graph_whole"), 0), 5)
      << "the pair around a whole graph stands in the stream";
}

TEST(EventBias, OfAChainIsWhatThePairTakesBeyondItsPart) {
  read::Calibration chain = calibration(0, PairState::kGraph, 2);
  EXPECT_EQ(chain_bias_us(chain), std::nullopt) << "only the empty pair";
  chain.empty_kernel_pair_us = read::Distribution{};
  chain.empty_kernel_pair_us->median = 4.5;
  EXPECT_EQ(chain_bias_us(chain), std::nullopt) << "no chain";
  chain.added_kernel_us = read::Distribution{};
  chain.added_kernel_us->median = 1.75;
  EXPECT_EQ(chain_bias_us(chain), 2.75);
  chain.added_kernel_us->median = 5;
  EXPECT_EQ(chain_bias_us(chain), std::nullopt) << "longer in a chain than its pair reads";
  chain.added_kernel_us->median = 0;
  EXPECT_EQ(chain_bias_us(chain), std::nullopt) << "kernels that take no time";
}

TEST(EventBias, TakesTheChainOnlyWhenAsked) {
  read::Profile profile = calibrated();
  const BiasSetting chain{.kind = BiasSetting::Kind::kChain};
  const EventBias without(chain, profile, {});
  EXPECT_EQ(without.source(), "calibration");
  EXPECT_THAT(without.warnings(), ElementsAre(HasSubstr("added_kernel_us")));
  EXPECT_EQ(without.of_sample_us(kMixed, 0), 5);

  read::Calibration& busy = profile.calibration[0];
  busy.empty_kernel_pair_us = read::Distribution{};
  busy.empty_kernel_pair_us->median = 8;
  busy.added_kernel_us = read::Distribution{};
  busy.added_kernel_us->median = 9;
  EXPECT_THAT(EventBias(chain, profile, {}).warnings(),
              ElementsAre(HasSubstr("adds 9 us to a pair that takes 8 us")));
  busy.added_kernel_us->median = 2;
  EXPECT_EQ(EventBias({}, profile, {}).of_sample_us(kMixed, 0), 5);
  const EventBias with(chain, profile, {});
  EXPECT_EQ(with.source(), "chain");
  EXPECT_THAT(with.warnings(), IsEmpty());
  EXPECT_EQ(with.of_sample_us(kMixed, 0), 6);
  EXPECT_EQ(with.of_sample_us(kMixed, 1), 7) << "idle has no chain";
}

TEST(EventBias, FallsBackToTheNearestState) {
  read::Profile profile = profile_of({}, 1000);
  profile.calibration = {calibration(0, PairState::kIdle, 7)};
  const EventBias only_idle({}, profile, {});
  EXPECT_DOUBLE_EQ(only_idle.of_sample_us(kMixed, 0), 7);
  profile.calibration = {calibration(0, PairState::kBusy, 5)};
  const EventBias only_busy({}, profile, {});
  EXPECT_DOUBLE_EQ(only_busy.of_sample_us(kMixed, 1), 5);
  EXPECT_DOUBLE_EQ(only_busy.of_sample_us(EventBuilder("n", 0, 1).in_graph(), 0), 5);
}

TEST(EventBias, ADeviceThatWasNotCalibratedTakesTheMedianOfTheOthers) {
  read::Profile profile = profile_of({EventBuilder("a", 0, 1).device(3).samples_us({10})}, 1000);
  profile.calibration = {calibration(0, PairState::kBusy, 5), calibration(1, PairState::kBusy, 6),
                         calibration(2, PairState::kBusy, 9)};
  const EventBias bias({}, profile, {});
  EXPECT_DOUBLE_EQ(bias.of_sample_us(profile.events[0], 0), 6);
  EXPECT_THAT(bias.warnings(), ElementsAre("device 3 was not calibrated: the median of the "
                                           "other devices is taken"));
}

TEST(EventBias, CanBeGivenOrSwitchedOff) {
  const EventBias given({.kind = BiasSetting::Kind::kGiven, .given_us = 4.5}, calibrated(), {});
  EXPECT_DOUBLE_EQ(given.of_sample_us(kMixed, 0), 4.5);
  EXPECT_EQ(given.source(), "given");
  const EventBias off({.kind = BiasSetting::Kind::kOff, .given_us = 0}, calibrated(), {});
  EXPECT_DOUBLE_EQ(off.of_sample_us(kMixed, 0), 0);
  EXPECT_EQ(off.source(), "off");
}

TEST(EventBias, WithoutCalibrationNothingIsTakenOffAndItSaysSo) {
  const EventBias bias({}, profile_of({}, 1000), {});
  EXPECT_DOUBLE_EQ(bias.of_sample_us(kMixed, 0), 0);
  EXPECT_EQ(bias.source(), "none");
  EXPECT_THAT(bias.warnings(), SizeIs(1));
}

}  // namespace
}  // namespace inline_prof::join
