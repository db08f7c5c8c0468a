// Policy adaptive, with a step that has too many launches to measure each of them often.
#include "run_host.hpp"
#include "testing.hpp"

namespace inline_prof::test {
namespace {

constexpr int kWarmup = 10;       // iterations, the default
constexpr int kFirstLayerUs = 5;  // of kernel_0_, whatever its grid
constexpr int kLayerStepUs = 4;

ProfiledRun run_layers(const char* iterations, const Texts& settings) {
  return ProfiledRun(
      "host_layers",
      {.arguments = {iterations},
       .environment = joined(
           {"SIMGPU_MODEL=model.json", "INLINE_PROF_POLICY=adaptive", "INLINE_PROF_OVERHEAD=0"},
           settings),
       .files = {
           {"model.json",
            model_of_numbered_kernels(
                kFirstLayerUs, kLayerStepUs,
                R"("noise": 0.03, "events": {"pair_bias_us": 4.0, "pair_jitter_us": 0.2})")}}});
}

TEST(PolicyAdaptive, KnowsEveryClassOfAStepOf2500LaunchesWithinAHundredSteps) {
  const ProfiledRun run = run_layers("160", {});
  const json& profile = run.profile;
  EXPECT_EQ(profile["complete"], true) << run.output;
  ASSERT_EQ(profile["events"].size(), 2500U);
  const double bias_us = profile["calibration"][0]["empty_pair_us"]["median"];

  std::map<std::string, std::vector<double>> times_of_class;
  std::map<std::string, double> truth_of_class;
  std::map<std::string, double> members;
  double step_us = 0;
  for (const json& event : profile["events"]) {
    const std::string name = event["class"];
    const double truth_us = numbered_kernel_us(event, kFirstLayerUs, kLayerStepUs);
    truth_of_class[name] = truth_us;
    ++members[name];
    step_us += truth_us;
    for (std::size_t i = 0; i < event["measured_times_ms"].size(); ++i) {
      if (event["iterations"][i] > kWarmup + 100) continue;
      times_of_class[name].push_back(event["measured_times_ms"][i].get<double>() * 1e3 - bias_us);
    }
  }
  // 41 launches of a layer, each the same in all layers, and 40 outside.
  EXPECT_EQ(truth_of_class.size(), 81U);
  int large = 0;
  for (const auto& [name, truth] : truth_of_class) {
    if (truth * members[name] / step_us < 0.005) continue;
    ++large;
    EXPECT_GE(times_of_class[name].size(), 10U) << name;
    EXPECT_NEAR(median(times_of_class[name]) / truth, 1, 0.03) << name;
  }
  EXPECT_GT(large, 30);
}

TEST(PolicyAdaptive, KeepsToItsBudget) {
  const ProfiledRun run = run_layers("60", {"INLINE_PROF_BUDGET=0.02%"});
  std::map<std::int64_t, int> pairs_of;
  for (const json& event : run.profile["events"]) {
    for (const json& iteration : event["iterations"])
      ++pairs_of[iteration.get<std::int64_t>()];
  }
  // 0.02 % of 65 ms is 13 us.  Each of a pair's two records takes 4 us: one pair fits.
  ASSERT_FALSE(pairs_of.empty());
  for (const auto& [iteration, pairs] : pairs_of)
    EXPECT_LE(pairs, 1) << iteration;
}

}  // namespace
}  // namespace inline_prof::test
