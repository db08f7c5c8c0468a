#include "join/compare/compare.hpp"

#include "join/join.hpp"
#include "profile_builder.hpp"
#include "testing.hpp"

namespace inline_prof::join {
namespace {

Analysis analysed(read::Profile profile) {
  profile.iter_time_ms.assign(20, profile.iter_time_ms.front());
  return join_profiles({std::move(profile)}, {}, {});
}

// 20 samples around `time_us`, `spread` of it to either side.
std::vector<double> around(double time_us, double spread = 0.01) {
  std::vector<double> samples;
  samples.reserve(20);
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
  for (const ComparedTime& time : comparison.layers)
    if (time.layer == name) return time;
  throw std::out_of_range(name);
}

// A trace of one step: `launches` of one kernel, 1 % apart, once each.
Analysis step_of(std::int64_t launches, double time_us) {
  std::vector<read::Event> events;
  for (std::int64_t i = 0; i < launches; ++i)
    events.push_back(EventBuilder("gemm", 2 * i, 2 * i + 1)
                         .layer("fc" + std::to_string(i))
                         .samples_us({time_us * (i % 2 == 0 ? 1.0 : 1.01)}));
  read::Profile profile = profile_of(std::move(events), 1000);
  profile.capabilities.has_event_pair_bias = false;
  for (read::Event& event : profile.events)
    event.kernel_name = event.name;
  return analysed(std::move(profile));
}

TEST(Compare, SingleSamplesAreJudgedByHowAlikeEqualLaunchesAre) {
  EXPECT_EQ(layer(compare_runs(step_of(12, 10), step_of(12, 13), {}), "fc3").change,
            Change::kSlower);
  EXPECT_EQ(layer(compare_runs(step_of(12, 10), step_of(12, 10), {}), "fc3").change, Change::kSame);
  EXPECT_THAT(layer(compare_runs(step_of(4, 10), step_of(4, 13), {}), "fc3").reason,
              HasSubstr("too few samples"));
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

TEST(Compare, JudgesNoLayerOfOtherSizesUnlessToldTo) {
  const auto run = [](std::int64_t rows, std::int64_t bytes, double time_us) {
    return analysed(profile_of(
        {EventBuilder("gemm", 0, 1)
             .layer("fc1")
             .op(test::gemm_op(rows, 512, 256, "f16"))
             .samples_us(around(time_us)),
         EventBuilder("copy", 2, 3).layer("in").op(memory_op(bytes, 0)).samples_us(around(50))},
        1000));
  };
  const Analysis before = run(2048, 1 << 20, 100);
  const Analysis after = run(4096, (1 << 20) + 1, 200);  // a byte more is within the margin
  const Comparison result = compare_runs(before, after, {});
  ASSERT_EQ(result.differences.size(), 1U);
  EXPECT_EQ(result.differences[0].text, "sizes: m 2048 -> 4096 in 1 layer");
  EXPECT_EQ(layer(result, "fc1").change, Change::kAmbiguous);
  EXPECT_EQ(layer(result, "fc1").reason, "other sizes: m 2048 -> 4096");
  EXPECT_EQ(layer(result, "in").change, Change::kSame);
  EXPECT_EQ(result.iteration->reason, "other sizes: m 2048 -> 4096 in 1 layer");
  EXPECT_EQ(layer(compare_runs(before, after, {.despite = {"sizes"}}), "fc1").change,
            Change::kSlower);
}

TEST(Compare, NamesLayersThatOnlyOneRunHas) {
  const Analysis other =
      analysed(profile_of({EventBuilder("gemm", 0, 1).layer("fc1").samples_us(around(100)),
                           EventBuilder("new", 2, 3).layer("fc3").samples_us(around(10))},
                          1000));
  const Comparison result = compare_runs(run_of(100, 50), other, {});
  EXPECT_EQ(layer(result, "fc1").change, Change::kSame);
  EXPECT_EQ(layer(result, "fc2").change, Change::kRemoved);
  EXPECT_EQ(layer(result, "fc3").change, Change::kAdded);
  EXPECT_EQ(change_words(layer(result, "fc3"), 0.05), "new");
  EXPECT_EQ(result.iteration->change, Change::kSame);
}

// A layer is what its kernels take together, however many and whatever they are called.
TEST(Compare, AddsUpALayerWhateverItsKernels) {
  const auto run = [](const std::vector<std::pair<std::string, double>>& kernels) {
    std::vector<read::Event> events;
    std::int64_t index = 0;
    for (const auto& [name, time_us] : kernels) {
      events.push_back(
          EventBuilder(name, index, index + 1).layer("attn").samples_us(around(time_us)));
      index += 2;
    }
    return analysed(profile_of(events, 1000));
  };
  const Comparison result =
      compare_runs(run({{"flash", 20}}), run({{"bmm", 30}, {"softmax", 20}, {"bmm2", 30}}), {});
  const ComparedTime& attn = layer(result, "attn");
  EXPECT_EQ(attn.change, Change::kSlower);
  EXPECT_NEAR(*attn.ratio, 4.0, 1e-9);
  EXPECT_TRUE(attn.kernels_changed);
  EXPECT_EQ(change_words(attn, 0.05), "4.0 times as long");
  EXPECT_EQ(result.events.size(), 4U);
  const Analysis with_unmeasured =
      analysed(profile_of({EventBuilder("bmm", 0, 1).layer("attn").samples_us(around(30)),
                           EventBuilder("softmax", 2, 3).layer("attn").samples_us({})},
                          1000));
  const Comparison partly = compare_runs(run({{"flash", 20}}), with_unmeasured, {});
  EXPECT_EQ(layer(partly, "attn").change, Change::kAmbiguous);
  EXPECT_THAT(layer(partly, "attn").reason, HasSubstr("1 of them were not measured"));
}

// A launch more in an early layer gives the same kernel of later layers another occurrence.
TEST(Compare, MatchesAnEventByItsPlaceInItsLayer) {
  const auto run = [](bool has_more) {
    std::vector<read::Event> events{EventBuilder("gemm", 0, 1).layer("fc1").samples_us(around(50))};
    if (has_more)
      events.push_back(
          EventBuilder("gemm", 2, 3).layer("fc1").occurrence(1).samples_us(around(50)));
    events.push_back(EventBuilder("gemm", 4, 5)
                         .layer("fc2")
                         .occurrence(has_more ? 2 : 1)
                         .samples_us(around(80)));
    return analysed(profile_of(events, 1000));
  };
  const Comparison result = compare_runs(run(false), run(true), {});
  EXPECT_EQ(layer(result, "fc2").change, Change::kSame);
  EXPECT_FALSE(layer(result, "fc2").kernels_changed);
  EXPECT_EQ(result.layers.front().layer, "fc1");  // the largest change comes first
  EXPECT_NEAR(*layer(result, "fc1").ratio, 2.0, 1e-9);
}

TEST(Compare, AddsUpLayersOfOnePattern) {
  const auto run = [](double time_us) {
    return analysed(
        profile_of({EventBuilder("flash", 0, 1).layer("blocks.0.attn").samples_us(around(time_us)),
                    EventBuilder("flash", 2, 3).layer("blocks.1.attn").samples_us(around(time_us)),
                    EventBuilder("gemm", 4, 5).layer("head").samples_us(around(30))},
                   1000));
  };
  const Comparison result = compare_runs(run(20), run(10), {});
  ASSERT_EQ(result.patterns.size(), 1U);
  EXPECT_EQ(result.patterns[0].layer, "blocks.*.attn");
  EXPECT_EQ(result.patterns[0].layers, 2U);
  EXPECT_NEAR(result.patterns[0].before_us.value, 40, 1);
  EXPECT_EQ(change_words(result.patterns[0], 0.05), "2.0 times faster");
}

TEST(Compare, SaysHowMuchIsWithinTheMargin) {
  const Comparison result = compare_runs(run_of(100, 50, 0.001), run_of(97.4, 50, 0.001), {});
  EXPECT_EQ(layer(result, "fc1").change, Change::kSame);
  EXPECT_EQ(change_words(layer(result, "fc1"), result.margin),
            "2.6 % faster, within the margin of 5 %");
  EXPECT_EQ(change_words(layer(result, "fc2"), result.margin), "same");
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
