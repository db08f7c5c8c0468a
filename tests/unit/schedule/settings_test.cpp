#include "schedule/settings.hpp"

#include "testing.hpp"

namespace inline_prof::schedule {
namespace {

TEST(Settle, GivesTheOriginalsDefaultsButForTheOrder) {
  const Settings settings = settle({}, {});
  EXPECT_EQ(settings.warmup, 10);
  EXPECT_EQ(settings.repeat, 50);
  EXPECT_EQ(settings.mode, Mode::kFineGrained);
  EXPECT_EQ(settings.policy, Policy::kInterleaved);
}

TEST(Settle, LetsTheEnvironmentBeatTheFileAndTheFileTheDefault) {
  Spec spec;
  spec.warmup = 20;
  spec.repeat = 5;
  Choices environment;
  environment.repeat = 7;
  const Settings settings = settle(environment, spec);
  EXPECT_EQ(settings.warmup, 20);
  EXPECT_EQ(settings.repeat, 7);
  EXPECT_EQ(settings.seed, 1U);
}

TEST(Settle, KeepsTheWarmupOfAProfScheduleAndSaysSo) {
  const SampleList list{.warmup = 10, .samples = {{11, {"a", "", 0}}}};
  Choices environment;
  environment.warmup = 20;
  environment.repeat = 3;
  const Settings settings = settle(environment, list);
  EXPECT_EQ(settings.warmup, 10);
  EXPECT_THAT(settings.warnings, SizeIs(2));
  EXPECT_EQ(settings.warnings.front(),
            "the number of warm-up iterations has no effect: a prof.schedule says itself which "
            "iteration measures what");

  environment = {};
  environment.warmup = 10;
  EXPECT_THAT(settle(environment, list).warnings, IsEmpty());
}

TEST(Settle, TakesAdaptiveWithItsTargetAndBudget) {
  Spec spec;
  spec.policy = Policy::kAdaptive;
  spec.target_ci = 0.05;
  Choices environment;
  environment.budget_percent = 1;
  const Settings settings = settle(environment, spec);
  EXPECT_EQ(settings.policy, Policy::kAdaptive);
  EXPECT_EQ(settings.target_ci, 0.05);
  EXPECT_EQ(settings.budget_percent, 1);
}

TEST(Settle, RefusesNumbersOutOfRange) {
  struct {
    Choices choices;
    const char* complaint;
  } const rows[]{
      {{.warmup = -1}, "a warm-up of -1 iterations, expected 0 to 1000000000"},
      {{.repeat = 0}, "0 repeats of an event, expected 1 to 1000000"},
      {{.target_ci = 1.0}, "a target_ci of 1.000000, expected a number between 0 and 1"},
      {{.budget_percent = 0.0}, "a budget of 0.000000%, expected one above 0% and up to 100%"}};
  for (const auto& row : rows)
    EXPECT_EQ(inline_prof::test::complaint([&] { return settle(row.choices, {}); }), row.complaint);
}

TEST(Budget, IsAPercentageOrAFraction) {
  EXPECT_EQ(budget_percent_from("0.1%"), 0.1);
  EXPECT_EQ(budget_percent_from("0.001"), 0.1);
  EXPECT_EQ(budget_percent_from("100%"), 100);
  EXPECT_EQ(budget_percent_from("1"), 100);
  for (const char* text : {"", "%", "0%", "0", "-1%", "101%", "1.5", "0.1 %", "nan", "inf%", "1%%"})
    EXPECT_EQ(budget_percent_from(text), std::nullopt) << text;
}

TEST(Names, AreReadBack) {
  for (const auto mode : {Mode::kFineGrained, Mode::kOneShot, Mode::kData, Mode::kUnitTest})
    EXPECT_EQ(mode_from_name(mode_name(mode)), mode);
  for (const auto policy : {Policy::kInOrder, Policy::kInterleaved, Policy::kAdaptive})
    EXPECT_EQ(policy_from_name(policy_name(policy)), policy);
  EXPECT_EQ(mode_from_name("fine-grained"), std::nullopt);
  EXPECT_EQ(policy_from_name(""), std::nullopt);
}

}  // namespace
}  // namespace inline_prof::schedule
