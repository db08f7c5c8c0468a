// CUPTI as the backend, and as a cross-check.
#include "run_host.hpp"
#include "testing.hpp"

namespace inline_prof::test {
namespace {

const Texts kCuptiSchedule{"INLINE_PROF_WARMUP=3", "INLINE_PROF_REPEAT=5",
                           "INLINE_PROF_OVERHEAD=0"};
const Texts kNoLabels{"--iterations=60", "--no-labels"};
const Texts kCrossCheck{"INLINE_PROF_CROSS_CHECK=cupti"};
const std::string kInjected = "CUDA_INJECTION64_PATH=" INLINE_PROF_TEST_PRELOAD;

HostOptions cupti_training(const Texts& environment = {}, const Texts& arguments = kNoLabels) {
  return {.arguments = arguments,
          .environment = joined(
              joined(kCuptiSchedule,
                     {"SIMGPU_LOG=calls.log", "SIMGPU_PAIR_BIAS_US=5.5", "SIMGPU_HOST_SPEED=0.5"}),
              environment)};
}

// Under injection the macros find the library only after cuInit: a kernel begins the iterations.
HostOptions injected(const Texts& environment = {}, const Texts& arguments = kNoLabels) {
  HostOptions options = cupti_training(
      joined(environment, {kInjected, "INLINE_PROF_ITERATION=kernel:kernel_b"}), arguments);
  options.with_library = false;
  return options;
}

// For a program with a subscription of its own.
HostOptions client(const char* subscribes, const char* variable) {
  return {.arguments = {subscribes}, .environment = joined(kCuptiSchedule, {variable})};
}

long calls_of(const Workplace& place, const std::string& function) {
  return std::ranges::count(lines_of(place.content("calls.log")), function);
}

std::set<std::string> events_of(const json& profile) {
  std::set<std::string> events;
  for (const json& event : profile["events"]) {
    events.insert(event["event_name"].get<std::string>() + " " +
                  event["met_times_within_this_stream"].dump());
  }
  return events;
}

TEST(CuptiBackend, SeesUnderInjectionWhatTheWrappersSee) {
  const ProfiledRun by_cupti("host_training", injected());
  EXPECT_EQ(by_cupti.output, "host ok, 300 launches\n");
  const ProfiledRun by_wrappers("host_training",
                                cupti_training({"INLINE_PROF_ITERATION=kernel:kernel_b"}));
  const json& found = by_cupti.profile;
  const json& expected = by_wrappers.profile;
  EXPECT_EQ(found["profiler"]["backend"], "cupti");
  EXPECT_EQ(expected["profiler"]["backend"], "driver");
  EXPECT_EQ(found["complete"], true);
  EXPECT_EQ(events_of(found), events_of(expected));
  EXPECT_EQ(found["overhead"]["launches_seen"], expected["overhead"]["launches_seen"]);
  EXPECT_EQ(found["calibration"].size(), expected["calibration"].size());

  // The simulated truth and the pairs' bias: 2 us, 0.001 us for each of 16 blocks, and one
  // record's 5.5 us.
  int tight = 0;
  for (const json& event : found["events"]) {
    ASSERT_EQ(event["measured_times_ms"].size(), 5U) << event["event_name"];
    for (std::size_t i = 0; i < 5; ++i) {
      if (event["tight"][i] != true) continue;
      ++tight;
      EXPECT_NEAR(event["measured_times_ms"][i].get<double>() * 1e3, 7.516, 0.002);
    }
  }
  EXPECT_GE(tight, 15);
}

TEST(CuptiBackend, SubscribesToLaunchesAndLeavesWhenDone) {
  const ProfiledRun run("host_training", injected({}, {"--iterations=2000", "--no-labels"}));
  EXPECT_EQ(calls_of(run.place, "cuptiSubscribe_v2"), 1);
  EXPECT_EQ(calls_of(run.place, "cuptiUnsubscribe"), 1);
  // 10000 launches, and two callbacks for each launch of some thirty iterations.  The program is
  // quick: it makes some more until the subscription has ended.
  EXPECT_LT(calls_of(run.place, "cupti_callback"), 10000);
}

TEST(CuptiBackend, TurnsCallbacksOffWhereOnlyLabelsAreArmed) {
  const ProfiledRun run("host_training",
                        cupti_training({"INLINE_PROF_BACKEND=cupti", "INLINE_PROF_POLICY=in_order"},
                                       {"--iterations=60", "--sync"}));
  EXPECT_EQ(run.output, "host ok, 300 launches\n");
  EXPECT_EQ(run.profile["profiler"]["backend"], "cupti");
  EXPECT_EQ(events_of(run.profile), (std::set<std::string>{"kernel_c 0", "step 0", "step.gemm 0"}));
  // Contexts, streams, modules and libraries; then launches on at the start, off for the labels, on
  // for kernel_c, off.
  EXPECT_EQ(calls_of(run.place, "cuptiEnableCallback"), 4 + 4 * 8);
}

TEST(CuptiBackend, CountsEachLaunchOnceThoughOurWrappersArePresent) {
  const ProfiledRun run("host_training", cupti_training({"INLINE_PROF_BACKEND=cupti"}));
  EXPECT_EQ(run.profile["overhead"]["launches_seen"], 15);  // three iterations of five
}

TEST(CuptiBackend, IsNotUsedWhereTheLibraryIsPreloadedAsWell) {
  const ProfiledRun run("host_training", cupti_training({kInjected}));
  EXPECT_EQ(run.profile["profiler"]["backend"], "driver");
  EXPECT_EQ(calls_of(run.place, "cuptiSubscribe_v2"), 0);
}

TEST(CuptiBackend, CannotBeTheDriversUnderInjection) {
  const Workplace place;
  const HostRun run = run_host(place, "host_training", injected({"INLINE_PROF_BACKEND=driver"}));
  EXPECT_EQ(run.exit_status, 0);
  EXPECT_THAT(run.output, HasSubstr("profiling is off: configuration: INLINE_PROF_BACKEND=driver: "
                                    "expected cupti under CUDA_INJECTION64_PATH"));
  EXPECT_THAT(place.names(), Not(Contains("prof.json")));
}

TEST(CuptiBackend, SaysWhoHasCupti) {
  const HostRun run = run_host(
      "host_cupti", {.arguments = {"first"}, .environment = {kInjected}, .with_library = false});
  EXPECT_EQ(run.exit_status, 0);
  EXPECT_EQ(
      run.output,
      "inline_prof: profiling is off: CUPTI: CUPTI serves one tool at a time, and another one "
      "has it (CUPTI for host)\nhost ok\n");
}

TEST(CuptiBackend, LeavesCuptiToWhoeverComesAfterIt) {
  const ProfiledRun run("host_cupti", client("later", "INLINE_PROF_BACKEND=cupti"));
  EXPECT_EQ(run.output, "host ok\n");
  EXPECT_EQ(run.profile["complete"], true);
}

TEST(CuptiBackend, ThatCannotSubscribeIsOffAndTheHostUnharmed) {
  for (const auto& [rule, complaint] :
       {std::pair{"39", "CUPTI serves one tool at a time, and another one has it"},
        std::pair{"35", "cuptiSubscribe: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)"},
        std::pair{"4711", "cuptiSubscribe: error 4711"}}) {
    const HostRun run =
        run_host("host_training", injected({std::string("SIMGPU_FAIL=cuptiSubscribe_v2:") + rule}));
    EXPECT_EQ(run.exit_status, 0);
    EXPECT_EQ(run.output, std::string("inline_prof: profiling is off: CUPTI: ") + complaint +
                              "\nhost ok, 300 launches\n");
  }
}

TEST(CuptiBackend, SurvivesForksAndContextsAndStreamsThatGo) {
  for (const char* trouble : {"--fork", "--reset-device", "--destroy-stream", "--capture"}) {
    const HostRun run = run_host("host_training", injected({}, joined(kNoLabels, {trouble})));
    EXPECT_EQ(run.exit_status, 0) << trouble << run.output;
    EXPECT_THAT(run.output, HasSubstr("host ok")) << trouble;
    if (std::string(trouble) == "--fork") {
      EXPECT_EQ(run.output, "host ok, 300 launches\n");
    }
  }
}

TEST(CuptiCrossCheck, CountsAsManyLaunchesAsWeDo) {
  for (const char* threads : {"--threads=1", "--threads=3"}) {
    const ProfiledRun run("host_training",
                          cupti_training(kCrossCheck, joined(kNoLabels, {"--streams=3", threads})));
    const json& check = run.profile["cross_check"];
    EXPECT_EQ(check["source"], "cupti");
    EXPECT_EQ(check["launches"], 45) << threads;
    EXPECT_EQ(check["launches"], check["launches_seen_by_us"]);
    EXPECT_EQ(check["dropped_records"], 0);
  }
}

TEST(CuptiCrossCheck, TimesTheMeasuredKernelsWithoutThePairsBiasAndChangesNoTimes) {
  const ProfiledRun checked("host_training", cupti_training(kCrossCheck));
  const ProfiledRun alone("host_training", cupti_training());
  ASSERT_EQ(checked.profile["events"].size(), alone.profile["events"].size());
  for (std::size_t i = 0; i < alone.profile["events"].size(); ++i) {
    const json& event = checked.profile["events"][i];
    EXPECT_EQ(event["measured_times_ms"], alone.profile["events"][i]["measured_times_ms"]);
    ASSERT_EQ(event["cross_check_times_us"].size(), event["measured_times_ms"].size());
    for (const json& time_us : event["cross_check_times_us"])
      EXPECT_NEAR(time_us.get<double>(), 2.016, 1e-6);
  }
  EXPECT_FALSE(alone.profile.contains("cross_check"));
  EXPECT_FALSE(alone.profile["events"][0].contains("cross_check_times_us"));
}

TEST(CuptiCrossCheck, HasNoTimesForLabels) {
  const ProfiledRun run("host_training", cupti_training(kCrossCheck, {"--iterations=60"}));
  for (const json& event : run.profile["events"]) {
    if (event["event_name"] == "kernel_c") continue;
    EXPECT_THAT(event["cross_check_times_us"], Each(nullptr));
  }
}

TEST(CuptiCrossCheck, StandsAsideForAnotherClient) {
  const ProfiledRun run("host_cupti", client("first", kCrossCheck[0].c_str()));
  const std::string sentence =
      "no cross-check: CUPTI serves one tool at a time, and another one has it (CUPTI for host)";
  EXPECT_EQ(run.output, "inline_prof: " + sentence + "\nhost ok\n");
  EXPECT_EQ(run.profile["complete"], true);
  EXPECT_FALSE(run.profile.contains("cross_check"));
  EXPECT_THAT(run.profile["warnings"], Contains(sentence));
  EXPECT_EQ(run.profile["events"].size(), 2U);
}

TEST(CuptiCrossCheck, LeavesCuptiToWhoeverComesAfterIt) {
  const ProfiledRun run("host_cupti", client("later", kCrossCheck[0].c_str()));
  EXPECT_EQ(run.output, "host ok\n");
  EXPECT_EQ(run.profile["cross_check"]["launches"], 6);  // three iterations of two
}

TEST(CuptiCrossCheck, ThatCannotRecordIsSaidAndLeftOut) {
  const ProfiledRun run(
      "host_training", cupti_training(joined(kCrossCheck, {"SIMGPU_FAIL=cuptiActivityEnable:35"})));
  EXPECT_EQ(run.output,
            "inline_prof: no cross-check: cuptiActivityEnable failed (CUptiResult 35)\n"
            "host ok, 300 launches\n");
  EXPECT_EQ(calls_of(run.place, "cuptiUnsubscribe"), 1);
  EXPECT_EQ(run.profile["complete"], true);
}

}  // namespace
}  // namespace inline_prof::test
