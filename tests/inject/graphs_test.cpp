// Programs that replay CUDA graphs: one kernel inside a replay is timed, and nothing else changes.
#include "run_host.hpp"
#include "testing.hpp"

#include <cctype>

namespace inline_prof::test {
namespace {

constexpr int kFirstUs = 5;  // of kernel_0_, a tenth of a microsecond more for each block
constexpr int kStepUs = 3;
constexpr double kPairUs = 4;     // of a pair on a stream
constexpr double kOverlapUs = 3;  // of kernels with a programmatic edge
constexpr double kCopyUs = 1.5;   // of a few bytes
constexpr std::size_t kGraphSamples = 20;

HostOptions graphs(const Texts& arguments, const Texts& environment) {
  return {.arguments = arguments,
          .environment = joined(
              {"SIMGPU_MODEL=model.json", "INLINE_PROF_REPEAT=" + std::to_string(kGraphSamples),
               "INLINE_PROF_OVERHEAD=0", "PROFILING_WARMUP_AFTER_CUDAGRAPH_REINIT=3"},
              environment),
          .files = {{"model.json",
                     model_of_numbered_kernels(
                         kFirstUs, kStepUs,
                         R"("noise": 0.003, "programmatic_overlap_us": 3, "events": {"pair_bias_us":
                            4.0, "graph_pair_bias_us": 2.0, "pair_jitter_us": 0.05})")}}};
}

// A program that runs to its own end, where it prints "host ok".
struct RunToItsEnd : ProfiledRun {
  explicit RunToItsEnd(const Texts& arguments, const Texts& environment = {})
      : ProfiledRun("host_graphs", graphs(arguments, environment)) {
    EXPECT_NE(output.find("host ok"), std::string::npos) << output;
  }
};

// A program that ends once prof.json is written, and checks its results in every step until then.
struct GraphRun : ProfiledRun {
  explicit GraphRun(const Texts& arguments, const Texts& environment = {})
      : ProfiledRun("host_graphs", graphs(joined(arguments, {"iterations=1000000"}),
                                          joined(environment, {"INLINE_PROF_EXIT_WHEN_DONE=1"}))) {
    EXPECT_EQ(output.find("host ok"), std::string::npos) << output;
  }
};

bool has_flag(const json& event, const std::string& flag) {
  const json& flags = event["flags"];
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

// Memory is copied beside the kernels, in the graph and around it.
bool is_copy(const json& event) {
  return event.contains("op") && event["op"]["kind"] == "copy";
}

long count_calls(const ProfiledRun& run, const std::string& function) {
  return std::ranges::count(lines_of(run.place.content("calls.txt")), function);
}

double graph_bias_us(const json& profile) {
  for (const json& calibration : profile["calibration"])
    if (calibration["state"] == "graph") return calibration["empty_pair_us"]["median"];
  ADD_FAILURE() << "no calibration of pairs in graphs";
  return 0;
}

double kernel_us(const json& event) {
  return numbered_kernel_us(event, kFirstUs, kStepUs);
}

// 0.2 us or four standard errors of the mean of the samples with 0.3 % of noise.
double tolerance_us(double truth_us) {
  return std::max(0.2, 4 * 0.003 * truth_us / std::sqrt(static_cast<double>(kGraphSamples)) * 1.25);
}

void expect_kernel_time(const json& event, double bias_us) {
  EXPECT_NEAR(median_us(event) - bias_us, kernel_us(event), tolerance_us(kernel_us(event)))
      << event["event_name"];
}

void expect_times_of_kernels(const json& profile) {
  const double bias_us = graph_bias_us(profile);
  for (const json& event : profile["events"]) {
    if (!has_flag(event, "graph_node")) continue;
    EXPECT_EQ(event["measured_times_ms"].size(), kGraphSamples) << event["event_name"];
    if (is_copy(event)) {
      EXPECT_NEAR(median_us(event) - bias_us, kCopyUs, 0.2) << event["event_name"];
      continue;
    }
    expect_kernel_time(event, bias_us);
    EXPECT_EQ(event["in_cuda_graph"], true);
  }
}

// Events of kernels and graphs with a flag.
std::vector<json> flagged(const json& profile, const std::string& flag) {
  std::vector<json> events;
  for (const json& event : profile["events"])
    if (has_flag(event, flag) && !is_copy(event)) events.push_back(event);
  return events;
}

// The only event of a graph as a whole.
json the_whole(const json& profile) {
  const auto events = flagged(profile, "graph_whole");
  EXPECT_EQ(events.size(), 1U) << profile["events"].dump(1);
  return events.empty() ? json::object() : events.front();
}

// --- programs whose graphs are timed kernel by kernel

struct Shape {
  const char* name;
  Texts arguments;
  std::size_t nodes;
  Texts environment = {};

  friend void PrintTo(const Shape& row, std::ostream* out) { *out << row.name; }
};

class GraphsOf : public TestWithParam<Shape> {};

TEST_P(GraphsOf, HaveATimeForEachKernel) {
  const GraphRun run(GetParam().arguments, GetParam().environment);
  EXPECT_EQ(run.profile["complete"], true) << run.output;
  EXPECT_EQ(flagged(run.profile, "graph_node").size(), GetParam().nodes)
      << run.profile["events"].dump(1);
  EXPECT_EQ(flagged(run.profile, "graph_whole").size(), 0U);
  expect_times_of_kernels(run.profile);
}

INSTANTIATE_TEST_SUITE_P(
    AProgram, GraphsOf,
    Values(Shape{"Branches", {"branches"}, 5},  // what runs beside a kernel still does
           Shape{"TwoExecs", {"chain", "execs=2", "replays=2"}, 24},
           Shape{"TwoDevices", {"devices"}, 12, {"SIMGPU_DEVICES=2"}},
           Shape{"TwoDevicesWithThreads", {"threads"}, 12, {"SIMGPU_DEVICES=2"}},
           Shape{"ParametersThatChange", {"set_params", "every=1"}, 2}),
    [](const auto& row) { return row.param.name; });

TEST(Graphs, KernelsKeepTheLayerOfTheirCaptureAndAtMostOneMoreGraphIsMadeForEach) {
  const GraphRun run({"chain"}, {"SIMGPU_LOG=calls.txt"});
  EXPECT_EQ(run.profile["complete"], true) << run.output;
  EXPECT_EQ(flagged(run.profile, "graph_node").size(), 6U) << run.profile["events"].dump(1);
  EXPECT_EQ(flagged(run.profile, "graph_whole").size(), 0U);
  expect_times_of_kernels(run.profile);
  EXPECT_EQ(event_named(run.profile, "kernel_1_")["layer_name"], "Bottom");
  EXPECT_EQ(event_named(run.profile, "kernel_4_")["layer_name"], "Top");
  // The application's own, one for each of six kernels and a copy, and three that calibrate.
  EXPECT_EQ(count_calls(run, "cuGraphInstantiateWithFlags"), 1 + 7 + 3);
  EXPECT_GE(count_calls(run, "cuGraphLaunch"), 7 * 23);
}

void expect_label(const json& profile, const json& label) {
  EXPECT_EQ(label["measured_times_ms"].size(), kGraphSamples);
  EXPECT_NEAR(median_us(label) - graph_bias_us(profile), 8 + 11, 0.3);
}

TEST(Graphs, ALabelOfTheCaptureIsOneEventWithItsOperation) {
  const GraphRun run({"labelled"});
  const json& label = event_named(run.profile, "fc");
  EXPECT_EQ(label["op"]["m"], 128);
  EXPECT_EQ(label["layer_name"], "Net");
  EXPECT_EQ(label["kernel_names"].size(), 2U);
  expect_label(run.profile, label);
}

TEST(Graphs, CapturedInEveryIterationAreMeasuredInTheCapture) {
  const GraphRun run({"recapturing", "every=1"}, {"INLINE_PROF_POLICY=in_order"});
  const json& label = event_named(run.profile, "fc");
  EXPECT_TRUE(has_flag(label, "recaptured"));
  expect_label(run.profile, label);
}

class RandomGraphs : public TestWithParam<int> {};

TEST_P(RandomGraphs, EveryKernelIsWithinItsTolerance) {
  const GraphRun run({"random", "grid=16", "nodes=" + std::to_string(GetParam())},
                     {"INLINE_PROF_POLICY=adaptive"});
  EXPECT_EQ(flagged(run.profile, "graph_node").size(), static_cast<std::size_t>(GetParam()));
  const double bias_us = graph_bias_us(run.profile);
  int measured = 0;
  for (const json& event : run.profile["events"]) {
    // Another one of the same class may be measured instead.
    if (event["measured_times_ms"].empty() || is_copy(event)) continue;
    ++measured;
    expect_kernel_time(event, bias_us);
  }
  EXPECT_GE(measured, 5);
}

INSTANTIATE_TEST_SUITE_P(OfManySizes, RandomGraphs,
                         Values(10, 200, INLINE_PROF_TEST_SANITIZED ? 500 : 2000));

TEST(Graphs, IterationsAreFoundWhereOneGraphIsAllThatIsReplayed) {
  const GraphRun run({"random", "nodes=60", "boundaries=0"}, {"INLINE_PROF_POLICY=adaptive"});
  EXPECT_EQ(run.profile["profiler"]["iteration_source"], "auto") << run.output;
  EXPECT_EQ(flagged(run.profile, "graph_node").size(), 60U);
}

// --- graphs that cannot be taken apart, and why

class GraphsAsAWhole : public TestWithParam<Shape> {};

TEST_P(GraphsAsAWhole, SayWhy) {
  const GraphRun run(GetParam().arguments, GetParam().environment);
  const auto events = flagged(run.profile, "graph_whole");
  EXPECT_EQ(events.size(), GetParam().nodes) << run.profile["events"].dump(1);
  for (const json& event : events)
    EXPECT_NE(event.value("reason", "").find(GetParam().name), std::string::npos) << event.dump(1);
}

INSTANTIATE_TEST_SUITE_P(
    AProgram, GraphsAsAWhole,
    Values(Shape{"it is replayed on several streams", {"two_streams"}, 2},
           Shape{"INLINE_PROF_GRAPH_COPIES", {"chain"}, 1, {"INLINE_PROF_GRAPH_COPIES=0"}},
           Shape{"the program changes it again and again", {"update", "every=1"}, 1},
           Shape{"the program makes it anew again and again", {"remaking", "every=1"}, 1}),
    [](const auto& row) { return row.param.arguments.front(); });

TEST(Graphs, ThatAllocateMemoryAreTimedAsAWhole) {
  const GraphRun run({"allocation"});
  const json whole = the_whole(run.profile);
  EXPECT_EQ(flagged(run.profile, "graph_node").size(), 0U);
  EXPECT_EQ(whole["reason"], "it allocates memory");
  EXPECT_GT(median_us(whole), 10);
}

TEST(Graphs, OfWhichNothingIsWantedAreNotCopied) {
  HostOptions options = graphs({"chain", "iterations=1000000"},
                               {"SIMGPU_LOG=calls.txt", "INLINE_PROF_EXIT_WHEN_DONE=1"});
  options.files["prof.events"] = "graph_0\n";
  const ProfiledRun run("host_graphs", options);
  EXPECT_EQ(count_calls(run, "cuGraphClone"), 0);
  EXPECT_EQ(flagged(run.profile, "graph_node").size(), 0U);
  const json whole = the_whole(run.profile);
  EXPECT_EQ(whole["event_name"], "graph_0");
  EXPECT_EQ(whole["measured_times_ms"].size(), kGraphSamples);
  EXPECT_EQ(whole["reason"], "the schedule asks for nothing inside it");
}

TEST(Graphs, InsideOthersAreTimedTogether) {
  const GraphRun run({"child"});
  const auto children = flagged(run.profile, "graph_child");
  ASSERT_EQ(children.size(), 1U);
  EXPECT_NEAR(median_us(children[0]) - graph_bias_us(run.profile), 14 + 17, 0.5);
  EXPECT_NE(children[0].value("reason", ""), "");
}

TEST(Graphs, LaunchedIntoACaptureBecomePartOfIt) {
  const GraphRun run({"nested_capture"});
  EXPECT_EQ(flagged(run.profile, "graph_child").size(), 1U) << run.profile["events"].dump(1);
}

// --- programmatic launches, which begin before the kernel in front has ended

// Kernels of 5, 8 and 11 us, the second of which begins 3 us before the first has ended; a copy.
TEST(Graphs, KernelsThatOverlapAreTimedWithoutTheirOverlapAndAsAWhole) {
  const GraphRun run({"programmatic"});
  const json& profile = run.profile;
  expect_times_of_kernels(profile);
  EXPECT_TRUE(has_flag(event_named(profile, "kernel_0_"), "pdl_removed"));
  EXPECT_TRUE(has_flag(event_named(profile, "kernel_1_"), "pdl_removed"));
  EXPECT_FALSE(has_flag(event_named(profile, "kernel_2_"), "pdl_removed"));
  EXPECT_EQ(flagged(profile, "not_measurable").size(), 0U);
  const json whole = the_whole(profile);
  EXPECT_EQ(whole["measured_times_ms"].size(), kGraphSamples);
  EXPECT_NEAR(median_us(whole) - kPairUs, 5 + 8 + 11 - kOverlapUs + kCopyUs, 0.5);
}

// All but the copy: six kernels of 5 to 20 us, five of which begin 3 us early.
TEST(Graphs, OfProgrammaticLaunchesAreTimedKernelByKernelAndAsAWhole) {
  const GraphRun run({"overlapping"});
  expect_times_of_kernels(run.profile);
  EXPECT_EQ(flagged(run.profile, "pdl_removed").size(), 6U);
  EXPECT_NEAR(median_us(the_whole(run.profile)) - kPairUs,
              5 + 8 + 11 + 14 + 17 + 20 - 5 * kOverlapUs + kCopyUs, 0.5);
}

// On a stream, too, the pair's events stand between the kernel and its neighbours.
TEST(Graphs, AreNotNeededForProgrammaticLaunches) {
  const GraphRun run({"overlapping_eager"});
  EXPECT_EQ(flagged(run.profile, "pdl_removed").size(), 6U);
  for (const json& event : run.profile["events"]) {
    if (is_copy(event)) continue;
    EXPECT_EQ(event["flags"], json::array({"pdl_removed"})) << event["event_name"];
    expect_kernel_time(event, kPairUs);
  }
}

TEST(Graphs, KernelsThatMustRunTogetherAreTimedWithTheWholeGraph) {
  const GraphRun run({"programmatic", "launch_order=1"});
  for (const char* name : {"kernel_0_", "kernel_1_"}) {
    const json& event = event_named(run.profile, name);
    EXPECT_EQ(event["flags"], json::array({"graph_node", "not_measurable"})) << event.dump(1);
    EXPECT_NE(event.value("reason", "").find("launch-order"), std::string::npos);
  }
  EXPECT_EQ(event_named(run.profile, "kernel_2_")["measured_times_ms"].size(), kGraphSamples);
  static_cast<void>(the_whole(run.profile));
}

// --- limits and failures

TEST(Graphs, ThatNeverRestLoseNothingAndHoldNothing) {
  const RunToItsEnd run({"restless", "iterations=10000"});
  const double bias_us = graph_bias_us(run.profile);
  for (const json& event : flagged(run.profile, "graph_node")) {
    for (const json& time_ms : event["measured_times_ms"])
      EXPECT_NEAR(time_ms.get<double>() * 1e3 - bias_us, kernel_us(event), 1.0);
  }
}

TEST(Graphs, WithUserObjectsHoldNoneOfThem) {
  const RunToItsEnd run({"user_object", "iterations=300", "keep_graph=1"});
}

TEST(Graphs, ThatAreManyAndLargeStayBelowTheCap) {
  constexpr std::uint64_t cap_mib = 2;  // half of what copies of all would take
  const RunToItsEnd run({"many", "graphs=8", "nodes=500", "iterations=12"},
                        {"INLINE_PROF_GRAPH_COPIES=" + std::to_string(cap_mib)});
  EXPECT_LT(run.profile["overhead"]["host_bytes"].get<std::uint64_t>(), (16U + cap_mib) << 20U);
  EXPECT_GT(flagged(run.profile, "graph_node").size(), 0U);
  const auto whole = flagged(run.profile, "graph_whole");
  ASSERT_FALSE(whole.empty());
  EXPECT_NE(whole.back().value("reason", ""), "");
}

TEST(Graphs, LetTheHostEndWhileOneOfThemIsMeasured) {
  for (const char* iterations : {"iterations=14", "iterations=40", "iterations=90"}) {
    const RunToItsEnd run({"chain", iterations});
    EXPECT_EQ(run.profile["complete"], false) << iterations;
  }
}

class AFailingCall : public TestWithParam<const char*> {};

TEST_P(AFailingCall, DoesNotReachTheApplication) {
  const GraphRun run({"chain"}, {std::string("SIMGPU_FAIL=") + GetParam()});
  EXPECT_EQ(run.profile["complete"], true) << run.output;
  for (const json& event : run.profile["events"]) {
    // Timed as a whole, or not at all, with a reason; or the failure was of no consequence.
    if (event["measured_times_ms"].size() >= kGraphSamples) continue;
    EXPECT_TRUE(has_flag(event, "not_measurable")) << event.dump(1);
    EXPECT_NE(event.value("reason", ""), "") << event.dump(1);
  }
}

INSTANTIATE_TEST_SUITE_P(OfOurs, AFailingCall,
                         Values("cuGraphClone", "cuGraphNodeFindInClone", "cuGraphNodeGetType",
                                "cuGraphKernelNodeGetParams", "cuGraphNodeGetDependencies",
                                "cuGraphNodeGetDependentNodes", "cuGraphAddEventRecordNode",
                                "cuGraphAddDependencies", "cuGraphRemoveDependencies",
                                "cuGraphUpload", "cuGraphInstantiateWithFlags:after=4",
                                "cuGraphExecEventRecordNodeSetEvent",
                                "cuGraphInstantiateWithFlags:2:after=4:count=1", "cuGraphGetNodes"),
                         [](const auto& call) {
                           std::string name = call.param;
                           std::replace_if(
                               name.begin(), name.end(),
                               [](char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace inline_prof::test
