// Programs that replay CUDA graphs: one kernel inside a replay is timed, and nothing else changes.
#include "run_host.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace inline_prof::test {
namespace {

using nlohmann::json;
using Texts = std::vector<std::string>;

constexpr const char* kEndsWhenDone = "INLINE_PROF_EXIT_WHEN_DONE=1";

constexpr double kOverlapUs = 3;  // of kernels with a programmatic edge
constexpr double kCopyUs = 1.5;   // of a few bytes

// Kernel i takes 5 + 3 i us, a tenth of a microsecond more for each block.
std::string model() {
  std::string rules;
  for (int i = 0; i < 12; ++i) {
    rules += std::string(i == 0 ? "" : ",") + R"({"name": "kernel_)" + std::to_string(i) +
             R"(_", "duration_us": )" + std::to_string(5 + 3 * i) + "}";
  }
  return R"({"noise": 0.003, "programmatic_overlap_us": )" + std::to_string(kOverlapUs) +
         R"(, "events": {"pair_bias_us": 4.0, "graph_pair_bias_us": 2.0,
             "pair_jitter_us": 0.05}, "rules": [)" +
         rules + "]}";
}

struct GraphRun {
  HostRun run;
  json profile;
};

// The program runs to its own end, which says "host ok".
GraphRun run_to_its_end(const Workplace& place, Texts arguments, Texts environment = {}) {
  place.write("model.json", model());
  environment.insert(environment.begin(),
                     {"SIMGPU_MODEL=model.json", "INLINE_PROF_REPEAT=20", "INLINE_PROF_OVERHEAD=0",
                      "PROFILING_WARMUP_AFTER_CUDAGRAPH_REINIT=3"});
  const bool ends_when_done = environment.back() == kEndsWhenDone;
  GraphRun result;
  result.run = run_host(place, "host_graphs",
                        {.arguments = std::move(arguments), .environment = std::move(environment)});
  EXPECT_EQ(result.run.exit_status, 0) << result.run.output;
  EXPECT_EQ(result.run.output.find("host ok") != std::string::npos, !ends_when_done)
      << result.run.output;
  result.profile = place.json();
  return result;
}

// Ends once prof.json is written; the application checks its results in every step until then.
GraphRun run_graphs(const Workplace& place, Texts arguments, Texts environment = {}) {
  arguments.insert(arguments.begin() + 1, "iterations=1000000");
  environment.emplace_back(kEndsWhenDone);
  return run_to_its_end(place, std::move(arguments), std::move(environment));
}

bool has_flag(const json& event, const std::string& flag) {
  const json& flags = event["flags"];
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

// Memory is moved beside the kernels, in the graph and around it.
bool is_copy(const json& event) {
  return event.contains("op") && event["op"]["kind"] == "copy";
}

// Null where there is none.
json event_named(const json& profile, const std::string& name) {
  json found;
  for (const json& event : profile["events"]) {
    if (event["event_name"] == name) found = event;
  }
  return found;
}

std::size_t count_calls(const Workplace& place, const std::string& function) {
  std::size_t count = 0;
  std::istringstream lines(place.text("calls.txt"));
  for (std::string line; std::getline(lines, line);)
    count += line == function ? 1U : 0U;
  return count;
}

double median_us(const json& event) {
  std::vector<double> times = event["measured_times_ms"];
  if (times.empty()) return -1;
  std::sort(times.begin(), times.end());
  return times[times.size() / 2] * 1e3;
}

double graph_bias_us(const json& profile) {
  for (const json& calibration : profile["calibration"]) {
    if (calibration["state"] == "graph") return calibration["empty_pair_us"]["median"];
  }
  ADD_FAILURE() << "no calibration of pairs in graphs";
  return 0;
}

double kernel_us(const json& event) {
  const std::string name = event["event_name"];  // kernel_7_
  return 5 + 3 * std::stod(name.substr(name.find('_') + 1));
}

// 0.2 us or four standard errors of the mean of 20 samples with 0.3 % of noise.
double tolerance_us(double truth_us) {
  return std::max(0.2, 4 * 0.003 * truth_us / std::sqrt(20.0) * 1.25);
}

void expect_times_of_kernels(const json& profile) {
  const double bias_us = graph_bias_us(profile);
  for (const json& event : profile["events"]) {
    if (!has_flag(event, "graph_node")) continue;
    EXPECT_EQ(event["measured_times_ms"].size(), 20U) << event["event_name"];
    if (is_copy(event)) {
      EXPECT_NEAR(median_us(event) - bias_us, kCopyUs, 0.2) << event["event_name"];
      continue;
    }
    EXPECT_NEAR(median_us(event) - bias_us, kernel_us(event), tolerance_us(kernel_us(event)))
        << event["event_name"];
    EXPECT_EQ(event["in_cuda_graph"], true);
  }
}

// Kernels and graphs.
std::size_t count_flagged(const json& profile, const std::string& flag) {
  std::size_t count = 0;
  for (const json& event : profile["events"])
    count += has_flag(event, flag) && !is_copy(event) ? 1U : 0U;
  return count;
}

// Of the only event of the whole graph.
std::string why_whole(const json& profile) {
  std::string reason;
  for (const json& event : profile["events"]) {
    if (has_flag(event, "graph_whole")) reason = event.value("reason", "");
  }
  return reason;
}

TEST(Graphs, EachKernelOfAReplayIsTimedInItsTurn) {
  const Workplace place;
  const auto [run, profile] = run_graphs(place, {"chain"});
  EXPECT_EQ(profile["complete"], true) << run.output;
  ASSERT_EQ(count_flagged(profile, "graph_node"), 6U) << profile["events"].dump(1);
  EXPECT_EQ(count_flagged(profile, "graph_whole"), 0U);
  expect_times_of_kernels(profile);
}

TEST(Graphs, KernelsKeepTheLayerOfTheirCapture) {
  const Workplace place;
  const auto [run, profile] = run_graphs(place, {"chain"});
  std::map<std::string, std::string> layers;
  for (const json& event : profile["events"])
    layers[event["event_name"]] = event["layer_name"];
  EXPECT_EQ(layers["kernel_1_"], "Bottom");
  EXPECT_EQ(layers["kernel_4_"], "Top");
}

TEST(Graphs, ALabelOfTheCaptureIsOneEventWithItsOperation) {
  const Workplace place;
  const auto [run, profile] = run_graphs(place, {"labelled"});
  json label = event_named(profile, "fc");
  ASSERT_FALSE(label.is_null()) << profile["events"].dump(1);
  EXPECT_EQ(label["op"]["m"], 128);
  EXPECT_EQ(label["layer_name"], "Net");
  EXPECT_EQ(label["kernel_names"].size(), 2U);
  EXPECT_NEAR(median_us(label) - graph_bias_us(profile), 8 + 11, 0.3);
}

TEST(Graphs, WhatRunsBesideAKernelStillDoes) {
  const Workplace place;
  const auto [run, profile] = run_graphs(place, {"branches"});
  ASSERT_EQ(count_flagged(profile, "graph_node"), 5U) << profile["events"].dump(1);
  expect_times_of_kernels(profile);
}

class RandomGraphs : public testing::TestWithParam<int> {};

TEST_P(RandomGraphs, EveryKernelIsWithinItsTolerance) {
  const Workplace place;
  const auto [run, profile] =
      run_graphs(place, {"random", "grid=16", "nodes=" + std::to_string(GetParam())},
                 {"INLINE_PROF_POLICY=adaptive"});
  EXPECT_EQ(count_flagged(profile, "graph_node"), static_cast<std::size_t>(GetParam()));
  const double bias_us = graph_bias_us(profile);
  int measured = 0;
  for (const json& event : profile["events"]) {
    // Another one speaks for its class.
    if (event["measured_times_ms"].empty() || is_copy(event)) continue;
    ++measured;
    EXPECT_NEAR(median_us(event) - bias_us, kernel_us(event), tolerance_us(kernel_us(event)))
        << event["event_name"];
  }
  EXPECT_GE(measured, 5);
}

INSTANTIATE_TEST_SUITE_P(OfManySizes, RandomGraphs,
                         testing::Values(10, 200, INLINE_PROF_TEST_SANITIZED ? 500 : 2000));

TEST(Graphs, OfTwoExecsBothAreTimed) {
  const Workplace place;
  const auto [run, profile] = run_graphs(place, {"chain", "execs=2", "replays=2"});
  EXPECT_EQ(count_flagged(profile, "graph_node"), 24U) << profile["events"].dump(1);
  expect_times_of_kernels(profile);
}

TEST(Graphs, OnTwoDevicesAreTimedOneByOne) {
  for (const char* shape : {"devices", "threads"}) {
    const Workplace place;
    const auto [run, profile] = run_graphs(place, {shape}, {"SIMGPU_DEVICES=2"});
    EXPECT_EQ(count_flagged(profile, "graph_node"), 12U) << shape;
    expect_times_of_kernels(profile);
  }
}

TEST(Graphs, IterationsAreFoundWhereOneGraphIsAllThatIsReplayed) {
  const Workplace place;
  const auto [run, profile] =
      run_graphs(place, {"random", "nodes=60", "boundaries=0"}, {"INLINE_PROF_POLICY=adaptive"});
  EXPECT_EQ(profile["profiler"]["iteration_source"], "auto") << run.output;
  EXPECT_EQ(count_flagged(profile, "graph_node"), 60U);
}

// --- what cannot be taken apart says so

TEST(Graphs, ThatAllocateMemoryAreTimedAsAWhole) {
  const Workplace place;
  const auto [run, profile] = run_graphs(place, {"allocation"});
  ASSERT_EQ(count_flagged(profile, "graph_whole"), 1U) << profile["events"].dump(1);
  EXPECT_EQ(count_flagged(profile, "graph_node"), 0U);
  EXPECT_EQ(why_whole(profile), "it allocates memory");
  EXPECT_GT(median_us(event_named(profile, "graph_0")), 10);
}

TEST(Graphs, InsideOthersAreTimedTogether) {
  const Workplace place;
  const auto [run, profile] = run_graphs(place, {"child"});
  EXPECT_EQ(count_flagged(profile, "graph_child"), 1U);
  for (const json& event : profile["events"]) {
    if (!has_flag(event, "graph_child")) continue;
    EXPECT_NEAR(median_us(event) - graph_bias_us(profile), 14 + 17, 0.5);
    EXPECT_NE(event.value("reason", ""), "");
  }
}

TEST(Graphs, KernelsThatOverlapAreTimedWithoutTheirOverlap) {
  const Workplace place;
  const auto [run, profile] = run_graphs(place, {"programmatic"});
  expect_times_of_kernels(profile);
  EXPECT_TRUE(has_flag(event_named(profile, "kernel_0_"), "pdl_removed"));
  EXPECT_TRUE(has_flag(event_named(profile, "kernel_1_"), "pdl_removed"));
  EXPECT_FALSE(has_flag(event_named(profile, "kernel_2_"), "pdl_removed"));
  EXPECT_EQ(count_flagged(profile, "not_measurable"), 0U);
}

// Kernels of 5, 8 and 11 us, the second of which begins 3 us before the first has ended; a copy.
TEST(Graphs, WithOverlapAreTimedAsAWholeToo) {
  const Workplace place;
  const auto [run, profile] = run_graphs(place, {"programmatic"});
  ASSERT_EQ(count_flagged(profile, "graph_whole"), 1U) << profile["events"].dump(1);
  for (const json& event : profile["events"]) {
    if (!has_flag(event, "graph_whole")) continue;
    EXPECT_EQ(event["measured_times_ms"].size(), 20U);
    EXPECT_NEAR(median_us(event) - 4, 5 + 8 + 11 - kOverlapUs + kCopyUs, 0.5);
  }
}

// All but the copy: six kernels of 5 to 20 us, five of which begin 3 us early.
TEST(Graphs, OfProgrammaticLaunchesAreTimedKernelByKernelAndAsAWhole) {
  const Workplace place;
  const auto [run, profile] = run_graphs(place, {"overlapping"});
  expect_times_of_kernels(profile);
  EXPECT_EQ(count_flagged(profile, "pdl_removed"), 6U);
  ASSERT_EQ(count_flagged(profile, "graph_whole"), 1U);
  for (const json& event : profile["events"]) {
    if (!has_flag(event, "graph_whole")) continue;
    EXPECT_NEAR(median_us(event) - 4, 5 + 8 + 11 + 14 + 17 + 20 - 5 * kOverlapUs + kCopyUs, 0.5);
  }
}

// The pair's events stand between the kernel and its neighbours on the stream, too.
TEST(Graphs, AreNotNeededForProgrammaticLaunches) {
  const Workplace place;
  const auto [run, profile] = run_graphs(place, {"overlapping_eager"});
  EXPECT_EQ(count_flagged(profile, "pdl_removed"), 6U);
  for (const json& event : profile["events"]) {
    if (is_copy(event)) continue;
    EXPECT_EQ(event["flags"], json::array({"pdl_removed"})) << event["event_name"];
    EXPECT_NEAR(median_us(event) - 4, kernel_us(event), tolerance_us(kernel_us(event)));
  }
}

TEST(Graphs, KernelsThatMustRunTogetherAreTimedWithTheWholeGraph) {
  const Workplace place;
  const auto [run, profile] = run_graphs(place, {"programmatic", "launch_order=1"});
  for (const char* name : {"kernel_0_", "kernel_1_"}) {
    const json event = event_named(profile, name);
    EXPECT_EQ(event["flags"], json::array({"graph_node", "not_measurable"})) << event.dump(1);
    EXPECT_NE(event.value("reason", "").find("launch-order"), std::string::npos);
  }
  EXPECT_EQ(event_named(profile, "kernel_2_")["measured_times_ms"].size(), 20U);
  EXPECT_EQ(count_flagged(profile, "graph_whole"), 1U);
}

TEST(Graphs, OnSeveralStreamsAreTimedAsAWhole) {
  const Workplace place;
  const auto [run, profile] = run_graphs(place, {"two_streams"});
  EXPECT_EQ(count_flagged(profile, "graph_whole"), 2U) << profile["events"].dump(1);
  EXPECT_EQ(why_whole(profile), "it is replayed on several streams");
}

TEST(Graphs, BeyondTheMemoryCapAreTimedAsAWhole) {
  const Workplace place;
  const auto [run, profile] = run_graphs(place, {"chain"}, {"INLINE_PROF_GRAPH_COPIES=0"});
  EXPECT_NE(why_whole(profile).find("INLINE_PROF_GRAPH_COPIES"), std::string::npos);
}

TEST(Graphs, LaunchedIntoACaptureBecomePartOfIt) {
  const Workplace place;
  const auto [run, profile] = run_graphs(place, {"nested_capture"});
  EXPECT_EQ(count_flagged(profile, "graph_child"), 1U) << profile["events"].dump(1);
}

// --- the application changes its graphs

TEST(Graphs, AKernelWhoseParametersChangeIsTimedAsItIs) {
  const Workplace place;
  const auto [run, profile] = run_graphs(place, {"set_params", "every=1"});
  EXPECT_EQ(count_flagged(profile, "graph_node"), 2U) << profile["events"].dump(1);
  expect_times_of_kernels(profile);
}

TEST(Graphs, UpdatedInEveryReplayAreTimedAsAWhole) {
  const Workplace place;
  const auto [run, profile] = run_graphs(place, {"update", "every=1"});
  EXPECT_EQ(why_whole(profile), "the program changes it again and again")
      << profile["events"].dump(1);
}

TEST(Graphs, MadeAnewInEveryReplayAreTimedAsAWhole) {
  const Workplace place;
  const auto [run, profile] = run_graphs(place, {"remaking", "every=1"});
  EXPECT_EQ(why_whole(profile), "the program makes it anew again and again")
      << profile["events"].dump(1);
}

TEST(Graphs, CapturedInEveryIterationAreMeasuredInTheCapture) {
  const Workplace place;
  const auto [run, profile] = run_graphs(place, {"recapturing", "every=1"});
  json label = event_named(profile, "fc");
  ASSERT_FALSE(label.is_null()) << profile["events"].dump(1);
  EXPECT_TRUE(has_flag(label, "recaptured"));
  EXPECT_EQ(label["measured_times_ms"].size(), 20U);
  EXPECT_NEAR(median_us(label) - graph_bias_us(profile), 8 + 11, 0.3);
}

TEST(Graphs, ThatNeverRestLoseNothingAndHoldNothing) {
  const Workplace place;
  const auto [run, profile] =
      run_to_its_end(place, {"restless", "iterations=10000"}, {"SIMGPU_TRUTH=truth.json"});
  const double bias_us = graph_bias_us(profile);
  for (const json& event : profile["events"]) {
    for (const json& time_ms : event["measured_times_ms"]) {
      if (!has_flag(event, "graph_node") || is_copy(event)) continue;
      EXPECT_NEAR(time_ms.get<double>() * 1e3 - bias_us, kernel_us(event), 1.0)
          << event["event_name"];
    }
  }
}

TEST(Graphs, WithUserObjectsHoldNoneOfThem) {
  const Workplace place;
  static_cast<void>(run_to_its_end(place, {"user_object", "iterations=300", "keep_graph=1"}));
}

TEST(Graphs, AtMostOneMoreIsMadeForEachKernel) {
  const Workplace place;
  const auto [run, profile] = run_graphs(place, {"chain"}, {"SIMGPU_LOG=calls.txt"});
  // The application's own, one for each of six kernels and a copy, and three that calibrate.
  EXPECT_EQ(count_calls(place, "cuGraphInstantiateWithFlags"), 1U + 7U + 3U);
  EXPECT_GE(count_calls(place, "cuGraphLaunch"), 7U * 23U);
}

// The number that stands before the last `words`, -1 where there is none.
int last_number_before(const std::string& text, const std::string& words) {
  const std::size_t end = text.rfind(words);
  if (end == std::string::npos) return -1;
  const std::size_t begin = text.find_last_not_of("0123456789", end - 1) + 1;
  return std::stoi(text.substr(begin, end - begin));
}

TEST(Graphs, ReplaysAllocateNothingWhileAKernelIsTimed) {
  if (INLINE_PROF_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer has an allocator of its own";
  const Workplace place;
  place.write("model.json", model());
  const HostRun run =
      run_host(place, "host_graph_counts",
               {.environment = {"SIMGPU_MODEL=model.json", "INLINE_PROF_REPEAT=700",
                                "INLINE_PROF_OVERHEAD=0", "INLINE_PROF_EXIT_WHEN_DONE=1"}});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  const json profile = place.json();
  EXPECT_EQ(count_flagged(profile, "graph_node"), 2U) << profile["events"].dump(1);
  for (const json& event : profile["events"])
    EXPECT_EQ(event["measured_times_ms"].size(), 700U);
  EXPECT_EQ(last_number_before(run.output, " allocations of the library"), 0) << run.output;
  // The counters do count: the library allocates when a graph is made, the simulated driver for
  // each launch.
  EXPECT_EQ(run.output.find("instantiate: 0 "), std::string::npos) << run.output;
  EXPECT_GT(last_number_before(run.output, " in all"), 100) << run.output;
}

TEST(Graphs, OfWhichNothingIsWantedAreNotCopied) {
  const Workplace place;
  place.write("prof.events", "graph_0\n");
  const auto [run, profile] = run_graphs(place, {"chain"}, {"SIMGPU_LOG=calls.txt"});
  EXPECT_EQ(count_calls(place, "cuGraphClone"), 0U);
  EXPECT_EQ(count_flagged(profile, "graph_whole"), 1U);
  EXPECT_EQ(count_flagged(profile, "graph_node"), 0U);
  EXPECT_EQ(event_named(profile, "graph_0")["measured_times_ms"].size(), 20U);
  EXPECT_EQ(why_whole(profile), "the schedule asks for nothing inside it");
}

TEST(Graphs, ThatAreManyAndLargeStayBelowTheCap) {
  const Workplace place;
#if INLINE_PROF_TEST_SANITIZED
  const Texts arguments{"many", "graphs=4", "nodes=500", "iterations=12"};
  const std::uint64_t cap_mib = 1;
#else
  const Texts arguments{"many", "graphs=40", "nodes=2000", "iterations=12"};
  const std::uint64_t cap_mib = 32;
#endif
  const auto [run, profile] =
      run_to_its_end(place, arguments, {"INLINE_PROF_GRAPH_COPIES=" + std::to_string(cap_mib)});
  const std::uint64_t bytes = profile["overhead"]["host_bytes"];
  EXPECT_LT(bytes, (16U + cap_mib) << 20U);
  EXPECT_GT(count_flagged(profile, "graph_node"), 0U);
  EXPECT_NE(why_whole(profile), "");
}

// --- what fails is our own affair

class AFailingCall : public testing::TestWithParam<const char*> {};

TEST_P(AFailingCall, IsNotTheHostsAffair) {
  const Workplace place;
  const auto [run, profile] =
      run_graphs(place, {"chain"}, {std::string("SIMGPU_FAIL=") + GetParam()});
  EXPECT_EQ(profile["complete"], true) << run.output;
  for (const json& event : profile["events"]) {
    // Timed as a whole, or not at all, and it says why; or the failure was of no consequence.
    if (event["measured_times_ms"].size() >= 20U) continue;
    EXPECT_TRUE(has_flag(event, "not_measurable")) << event.dump(1);
    EXPECT_NE(event.value("reason", ""), "") << event.dump(1);
  }
}

INSTANTIATE_TEST_SUITE_P(
    OfOurs, AFailingCall,
    testing::Values("cuGraphClone", "cuGraphNodeFindInClone", "cuGraphNodeGetType",
                    "cuGraphKernelNodeGetParams", "cuGraphNodeGetDependencies",
                    "cuGraphNodeGetDependentNodes", "cuGraphAddEventRecordNode",
                    "cuGraphAddDependencies", "cuGraphRemoveDependencies", "cuGraphUpload",
                    "cuGraphInstantiateWithFlags:after=4", "cuGraphExecEventRecordNodeSetEvent",
                    "cuGraphInstantiateWithFlags:2:after=4:count=1", "cuGraphGetNodes"),
    [](const auto& call) {
      std::string name = call.param;
      std::replace_if(
          name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
      return name;
    });

TEST(Graphs, LetTheHostEndWhileOneOfThemIsMeasured) {
  for (const char* iterations : {"iterations=14", "iterations=40", "iterations=90"}) {
    const Workplace place;
    const auto [run, profile] = run_to_its_end(place, {"chain", iterations});
    EXPECT_EQ(profile["complete"], false) << iterations;
  }
}

}  // namespace
}  // namespace inline_prof::test
