#include "join/compare/compare.hpp"

#include "join/join.hpp"
#include "profile_builder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace inline_prof::join {
namespace {

using test::EventBuilder;
using test::profile_of;
using testing::ElementsAre;
using testing::HasSubstr;

Analysis analysed(read::Profile profile) {
  profile.iter_time_ms.assign(20, profile.iter_time_ms.front());
  return join_profiles({std::move(profile)}, {}, {});
}

// 20 samples around `time_us`, `spread` of it to either side.
std::vector<double> around(double time_us, double spread = 0.01) {
  std::vector<double> samples;
  for (int i = 0; i < 20; ++i)
    samples.push_back(time_us * (1.0 + spread * (i - 9.5) / 9.5));
  return samples;
}

Analysis run_of(double fc1_us, double fc2_us, double spread = 0.01) {
  return analysed(
      profile_of({EventBuilder("gemm", 0, 1).layer("fc1").samples_us(around(fc1_us, spread)),
                  EventBuilder("gemm", 2, 3).layer("fc2").samples_us(around(fc2_us, spread))},
                 1000));
}

const ComparedTime& layer(const Comparison& comparison, const std::string& name) {
  for (const ComparedTime& time : comparison.layers) {
    if (time.layer == name) return time;
  }
  throw std::out_of_range(name);
}

TEST(Compare, CallsALayerSlowerFasterOrTheSame) {
  const Comparison result = compare_runs(run_of(100, 50), run_of(120, 50), {});
  EXPECT_EQ(layer(result, "fc1").change, Change::kSlower);
  EXPECT_NEAR(*layer(result, "fc1").ratio, 1.2, 1e-9);
  EXPECT_GT(layer(result, "fc1").ratio_ci95->lower, 1.18);
  EXPECT_LT(layer(result, "fc1").ratio_ci95->upper, 1.22);
  EXPECT_EQ(layer(result, "fc2").change, Change::kSame);
  EXPECT_EQ(result.iteration->change, Change::kSame);
  const Comparison back = compare_runs(run_of(120, 50), run_of(100, 50), {});
  EXPECT_EQ(layer(back, "fc1").change, Change::kFaster);
}

TEST(Compare, LeavesOpenWhatTheIntervalLeavesOpen) {
  const Comparison noisy = compare_runs(run_of(100, 50, 0.5), run_of(106, 50, 0.5), {});
  EXPECT_EQ(layer(noisy, "fc1").change, Change::kAmbiguous);
  EXPECT_THAT(layer(noisy, "fc1").reason, HasSubstr("spans"));
  const Analysis few =
      analysed(profile_of({EventBuilder("gemm", 0, 1).layer("fc1").samples_us({100, 100})}, 1000));
  const Comparison without = compare_runs(few, few, {});
  EXPECT_EQ(layer(without, "fc1").change, Change::kAmbiguous);
  EXPECT_THAT(layer(without, "fc1").reason, HasSubstr("too few samples"));
}

TEST(Compare, JudgesNothingAcrossDriversUnlessToldTo) {
  const auto with_driver = [](const std::string& version) {
    read::Profile profile =
        profile_of({EventBuilder("gemm", 0, 1).layer("fc1").samples_us(around(100))}, 1000);
    profile.devices.emplace_back().driver_version = version;
    profile.libraries = {{"cublas", "13.1"}};
    return analysed(std::move(profile));
  };
  const Analysis before = with_driver("570.1");
  const Analysis after = with_driver("580.1");
  const Comparison result = compare_runs(before, after, {});
  ASSERT_EQ(result.differences.size(), 1U);
  EXPECT_EQ(result.differences[0].text, "driver: 570.1 before, 580.1 after");
  EXPECT_EQ(layer(result, "fc1").change, Change::kAmbiguous);
  EXPECT_EQ(layer(result, "fc1").reason, "the runs differ in driver");
  const Comparison told = compare_runs(before, after, {.despite = {"driver"}});
  EXPECT_EQ(layer(told, "fc1").change, Change::kSame);
}

TEST(Compare, NamesEventsThatOnlyOneRunHas) {
  const Analysis other =
      analysed(profile_of({EventBuilder("gemm", 0, 1).layer("fc1").samples_us(around(100)),
                           EventBuilder("new", 2, 3).layer("fc3").samples_us(around(10))},
                          1000));
  const Comparison result = compare_runs(run_of(100, 50), other, {});
  EXPECT_THAT(result.only_before, ElementsAre("fc2 gemm"));
  EXPECT_THAT(result.only_after, ElementsAre("fc3 new"));
  EXPECT_EQ(layer(result, "fc1").reason, "the runs differ in events");
}

TEST(Compare, RefusesRunsThatShareNothing) {
  const Analysis other =
      analysed(profile_of({EventBuilder("x", 0, 1).samples_us(around(1))}, 1000));
  EXPECT_THROW(static_cast<void>(compare_runs(run_of(1, 1), other, {})), std::invalid_argument);
}

TEST(Compare, CountsARegionOnceInItsLayer) {
  const auto run = [](double region_us) {
    return analysed(profile_of({EventBuilder("fc", 0, 5).layer("fc1").samples_us(around(region_us)),
                                EventBuilder("fc.gemm", 1, 2).layer("fc1").samples_us(around(60)),
                                EventBuilder("fc.relu", 3, 4).layer("fc1").samples_us(around(20))},
                               1000));
  };
  const Comparison result = compare_runs(run(100), run(100), {});
  EXPECT_NEAR(layer(result, "fc1").before_us.value, 100.0 - 0.0, 11.0);  // less the pair's bias
  EXPECT_EQ(result.events.size(), 3U);
}

// The interval has to hold the true ratio in 95 of 100 comparisons, whatever the noise looks like.
#if defined(__SANITIZE_ADDRESS__)
constexpr int kTrials = 40;  // each takes 30 times as long
#else
constexpr int kTrials = 400;
#endif

TEST(Compare, IntervalsHoldTheTruthAsOftenAsTheySay) {
  std::mt19937 random(1);
  std::lognormal_distribution<double> noise(0.0, 0.2);  // skewed, median 1
  const double truth = 1.1;
  int held = 0;
  for (int i = 0; i < kTrials; ++i) {
    std::vector<double> before;
    std::vector<double> after;
    for (int j = 0; j < 30; ++j) {
      before.push_back(100 * noise(random));
      after.push_back(100 * truth * noise(random));
    }
    const auto run = [](const std::vector<double>& samples) {
      return analysed(profile_of({EventBuilder("k", 0, 1).layer("l").samples_us(samples)}, 1000));
    };
    const Comparison result = compare_runs(run(before), run(after), {});
    const Interval& interval = *result.events.at(0).ratio_ci95;
    if (interval.lower <= truth && truth <= interval.upper) ++held;
  }
  // 95 %, less two standard deviations of the count.
  EXPECT_GE(held, 0.95 * kTrials - 2 * std::sqrt(0.95 * 0.05 * kTrials));
}

}  // namespace
}  // namespace inline_prof::join
