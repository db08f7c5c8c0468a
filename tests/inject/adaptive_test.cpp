// Policy adaptive on a step too long to measure each launch often.
#include "run_host.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace inline_prof::test {
namespace {

using nlohmann::json;

constexpr int kWarmup = 10;  // iterations, the default

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Kernel i takes 5 + 4 i us, whatever its grid.
std::string model_of_twelve_kernels() {
  std::string rules;
  for (int i = 0; i < 12; ++i) {
    rules += std::string(i == 0 ? "" : ",") + R"({"name": "kernel_)" + std::to_string(i) +
             R"(_", "duration_us": )" + std::to_string(5 + 4 * i) + "}";
  }
  return R"({"noise": 0.03, "events": {"pair_bias_us": 4.0, "pair_jitter_us": 0.2}, "rules": [)" +
         rules + "]}";
}

double truth_us(const json& event) {
  const std::string name = event["event_name"];  // kernel_7_
  return 5 + 4 * std::stod(name.substr(name.find('_') + 1));
}

TEST(PolicyAdaptive, KnowsEveryClassOfAStepOf2500LaunchesWithinAHundredSteps) {
  const Workplace place;
  place.write("model.json", model_of_twelve_kernels());
  const HostRun run =
      run_host(place, "host_layers",
               {.arguments = {"160"},
                .environment = {"SIMGPU_MODEL=model.json", "INLINE_PROF_POLICY=adaptive",
                                "INLINE_PROF_OVERHEAD=0"}});
  ASSERT_EQ(run.exit_status, 0) << run.output;
  const json profile = place.json();
  EXPECT_EQ(profile["complete"], true) << run.output;
  ASSERT_EQ(profile["events"].size(), 2500U);
  const double bias_us = profile["calibration"][0]["empty_pair_us"]["median"];

  std::map<std::string, std::vector<double>> times_of_class;
  std::map<std::string, double> truth_of_class;
  std::map<std::string, double> members;
  double step_us = 0;
  for (const json& event : profile["events"]) {
    const std::string name = event["class"];
    truth_of_class[name] = truth_us(event);
    ++members[name];
    step_us += truth_us(event);
    for (std::size_t i = 0; i < event["measured_times_ms"].size(); ++i) {
      if (event["iterations"][i] > kWarmup + 100) continue;
      times_of_class[name].push_back(event["measured_times_ms"][i].get<double>() * 1e3 - bias_us);
    }
  }
  // 41 launches of a layer, each the same in all layers; the 40 outside are alone.
  EXPECT_EQ(truth_of_class.size(), 81U);
  int large = 0;
  for (const auto& [name, truth] : truth_of_class) {
    if (truth * members[name] / step_us < 0.005) continue;
    ++large;
    EXPECT_GE(times_of_class[name].size(), 10U) << name;
    EXPECT_NEAR(median_of(times_of_class[name]) / truth, 1, 0.03) << name;
  }
  EXPECT_GT(large, 30);
}

TEST(PolicyAdaptive, KeepsToItsBudget) {
  const Workplace place;
  place.write("model.json", model_of_twelve_kernels());
  const HostRun run =
      run_host(place, "host_layers",
               {.arguments = {"60"},
                .environment = {"SIMGPU_MODEL=model.json", "INLINE_PROF_POLICY=adaptive",
                                "INLINE_PROF_OVERHEAD=0", "INLINE_PROF_BUDGET=0.02%"}});
  ASSERT_EQ(run.exit_status, 0) << run.output;
  const json profile = place.json();
  std::map<std::int64_t, int> pairs_of;
  for (const json& event : profile["events"]) {
    for (const json& iteration : event["iterations"])
      ++pairs_of[iteration.get<std::int64_t>()];
  }
  // 0.02 % of 65 ms is 13 us; a pair takes 4 us for each of its records: one.
  ASSERT_FALSE(pairs_of.empty());
  for (const auto& [iteration, pairs] : pairs_of)
    EXPECT_LE(pairs, 1) << iteration;
}

}  // namespace
}  // namespace inline_prof::test
