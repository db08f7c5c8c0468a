// CUPTI as the backend, and as a cross-check.
#include "run_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

namespace inline_prof::test {
namespace {

using nlohmann::json;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

const std::string kInjected = "CUDA_INJECTION64_PATH=" INLINE_PROF_TEST_PRELOAD;

HostRun run_training(const Workplace& place, std::vector<std::string> environment,
                     std::vector<std::string> arguments = {"--iterations=60", "--no-labels"},
                     bool preloaded = true) {
  environment.insert(environment.begin(),
                     {"INLINE_PROF_WARMUP=3", "INLINE_PROF_REPEAT=5", "INLINE_PROF_OVERHEAD=0",
                      "SIMGPU_LOG=calls.log", "SIMGPU_PAIR_BIAS_US=5.5", "SIMGPU_HOST_SPEED=0.5"});
  return run_host(place, "host_training",
                  {.arguments = std::move(arguments),
                   .environment = std::move(environment),
                   .with_library = preloaded});
}

// Under injection the macros find the library only after cuInit: a kernel marks the iterations.
HostRun run_injected(const Workplace& place, std::vector<std::string> environment = {},
                     std::vector<std::string> arguments = {"--iterations=60", "--no-labels"}) {
  environment.push_back(kInjected);
  environment.push_back("INLINE_PROF_ITERATION=kernel:kernel_b");
  return run_training(place, std::move(environment), std::move(arguments), false);
}

// A program with a subscription of its own.
HostRun run_client(const Workplace& place, const char* subscribes, const char* variable) {
  return run_host(place, "host_cupti",
                  {.arguments = {subscribes},
                   .environment = {variable, "INLINE_PROF_WARMUP=3", "INLINE_PROF_REPEAT=5",
                                   "INLINE_PROF_OVERHEAD=0"}});
}

std::size_t calls_of(const Workplace& place, const std::string& function) {
  std::istringstream log(place.text("calls.log"));
  std::size_t count = 0;
  for (std::string line; std::getline(log, line);)
    count += static_cast<std::size_t>(line == function);
  return count;
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
  const Workplace injected;
  const HostRun run = run_injected(injected);
  EXPECT_EQ(run.output, "host ok, 300 launches\n");
  ASSERT_EQ(run.exit_status, 0);
  const Workplace preloaded;
  ASSERT_EQ(run_training(preloaded, {"INLINE_PROF_ITERATION=kernel:kernel_b"}).exit_status, 0);
  const json by_cupti = injected.json();
  const json by_wrappers = preloaded.json();
  EXPECT_EQ(by_cupti["profiler"]["backend"], "cupti");
  EXPECT_EQ(by_wrappers["profiler"]["backend"], "driver");
  EXPECT_EQ(by_cupti["complete"], true);
  EXPECT_EQ(events_of(by_cupti), events_of(by_wrappers));
  EXPECT_EQ(by_cupti["overhead"]["launches_seen"], by_wrappers["overhead"]["launches_seen"]);
  EXPECT_EQ(by_cupti["calibration"].size(), by_wrappers["calibration"].size());
}

TEST(CuptiBackend, MeasuresTheSimulatedTruthPlusThePairsBias) {
  const Workplace place;
  ASSERT_EQ(run_injected(place).exit_status, 0);
  int tight = 0;
  const json profile = place.json();
  for (const json& event : profile["events"]) {
    ASSERT_EQ(event["measured_times_ms"].size(), 5U) << event["event_name"];
    for (std::size_t i = 0; i < 5; ++i) {
      if (event["tight"][i] != true) continue;
      ++tight;
      // 2 us, 0.001 us for each of 16 blocks, and one record's 5.5 us.
      EXPECT_NEAR(event["measured_times_ms"][i].get<double>() * 1e3, 7.516, 0.002);
    }
  }
  EXPECT_GE(tight, 15);
}

TEST(CuptiBackend, SubscribesToLaunchesAndLeavesWhenDone) {
  const Workplace place;
  ASSERT_EQ(run_injected(place, {}, {"--iterations=2000", "--no-labels"}).exit_status, 0);
  EXPECT_EQ(calls_of(place, "cuptiSubscribe_v2"), 1U);
  EXPECT_EQ(calls_of(place, "cuptiUnsubscribe"), 1U);
  // 10000 launches; some thirty iterations of five are looked at, before and after each launch. The
  // host is quick: it makes some more until the subscription has gone.
  EXPECT_LT(calls_of(place, "cupti_callback"), 10000U);
}

TEST(CuptiBackend, TurnsCallbacksOffWhereOnlyLabelsAreArmed) {
  const Workplace place;
  const HostRun run =
      run_training(place, {"INLINE_PROF_BACKEND=cupti"}, {"--iterations=60", "--sync"});
  EXPECT_EQ(run.output, "host ok, 300 launches\n");
  const json profile = place.json();
  EXPECT_EQ(profile["profiler"]["backend"], "cupti");
  EXPECT_EQ(events_of(profile), (std::set<std::string>{"kernel_c 0", "step 0", "step.gemm 0"}));
  // Contexts, streams, modules and libraries; then launches on at the start, off for the labels, on
  // for kernel_c, off.
  EXPECT_EQ(calls_of(place, "cuptiEnableCallback"), 4U + 4U * 8U);
}

TEST(CuptiBackend, CountsEachLaunchOnceThoughOurWrappersArePresent) {
  const Workplace place;
  ASSERT_EQ(run_training(place, {"INLINE_PROF_BACKEND=cupti"}).exit_status, 0);
  EXPECT_EQ(place.json()["overhead"]["launches_seen"], 15);  // three iterations of five
}

TEST(CuptiBackend, IsNotUsedWhereTheLibraryIsPreloadedAsWell) {
  const Workplace place;
  ASSERT_EQ(run_training(place, {kInjected}).exit_status, 0);
  EXPECT_EQ(place.json()["profiler"]["backend"], "driver");
  EXPECT_EQ(calls_of(place, "cuptiSubscribe_v2"), 0U);
}

TEST(CuptiBackend, CannotBeTheDriversUnderInjection) {
  const Workplace place;
  const HostRun run = run_injected(place, {"INLINE_PROF_BACKEND=driver"});
  EXPECT_EQ(run.exit_status, 0);
  EXPECT_THAT(run.output, HasSubstr("profiling is off: configuration: INLINE_PROF_BACKEND=driver: "
                                    "expected cupti under CUDA_INJECTION64_PATH"));
  EXPECT_THAT(place.files(), Not(testing::Contains("prof.json")));
}

TEST(CuptiBackend, SaysWhoHasCupti) {
  const Workplace place;
  const HostRun run =
      run_host(place, "host_cupti",
               {.arguments = {"first"}, .environment = {kInjected}, .with_library = false});
  EXPECT_EQ(run.exit_status, 0);
  EXPECT_EQ(
      run.output,
      "inline_prof: profiling is off: CUPTI: CUPTI serves one tool at a time, and another one "
      "has it (CUPTI for host)\nhost ok\n");
}

TEST(CuptiBackend, LeavesCuptiToWhoeverComesAfterIt) {
  const Workplace place;
  const HostRun run = run_client(place, "later", "INLINE_PROF_BACKEND=cupti");
  EXPECT_EQ(run.output, "host ok\n");
  EXPECT_EQ(run.exit_status, 0);
  EXPECT_EQ(place.json()["complete"], true);
}

struct Failure {
  const char* name;
  const char* rule;
  const char* complaint;

  friend void PrintTo(const Failure& row, std::ostream* out) { *out << row.rule; }
};

class CuptiBackendIsOff : public testing::TestWithParam<Failure> {};

TEST_P(CuptiBackendIsOff, AndTheHostIsUnharmed) {
  const Workplace place;
  const HostRun run = run_injected(place, {std::string("SIMGPU_FAIL=") + GetParam().rule});
  EXPECT_EQ(run.exit_status, 0);
  EXPECT_EQ(run.output, std::string("inline_prof: profiling is off: CUPTI: ") +
                            GetParam().complaint + "\nhost ok, 300 launches\n");
}

INSTANTIATE_TEST_SUITE_P(
    All, CuptiBackendIsOff,
    testing::Values(Failure{"UnderNsight", "cuptiSubscribe_v2:39",
                            "CUPTI serves one tool at a time, and another one has it"},
                    Failure{"WithoutPermission", "cuptiSubscribe_v2:35",
                            "cuptiSubscribe: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)"},
                    Failure{"ForUnknownReasons", "cuptiSubscribe_v2:4711",
                            "cuptiSubscribe: error 4711"}),
    [](const auto& row) { return row.param.name; });

TEST(CuptiBackend, SurvivesAFork) {
  const Workplace place;
  const HostRun run = run_injected(place, {}, {"--iterations=60", "--no-labels", "--fork"});
  EXPECT_EQ(run.output, "host ok, 300 launches\n");
}

TEST(CuptiBackend, SurvivesContextsAndStreamsThatGo) {
  for (const char* trouble : {"--reset-device", "--destroy-stream", "--capture"}) {
    const Workplace place;
    const HostRun run = run_injected(place, {}, {"--iterations=60", "--no-labels", trouble});
    EXPECT_EQ(run.exit_status, 0) << trouble << run.output;
    EXPECT_THAT(run.output, HasSubstr("host ok")) << trouble;
  }
}

TEST(CuptiCrossCheck, CountsAsManyLaunchesAsWeDo) {
  for (const char* threads : {"--threads=1", "--threads=3"}) {
    const Workplace place;
    const HostRun run = run_training(place, {"INLINE_PROF_CROSS_CHECK=cupti"},
                                     {"--iterations=60", "--no-labels", "--streams=3", threads});
    ASSERT_EQ(run.exit_status, 0) << run.output;
    const json check = place.json()["cross_check"];
    EXPECT_EQ(check["source"], "cupti");
    EXPECT_EQ(check["launches"], 45) << threads;
    EXPECT_EQ(check["launches"], check["launches_seen_by_us"]);
    EXPECT_EQ(check["dropped_records"], 0);
  }
}

TEST(CuptiCrossCheck, TimesTheMeasuredKernelsWithoutThePairsBias) {
  const Workplace place;
  ASSERT_EQ(run_training(place, {"INLINE_PROF_CROSS_CHECK=cupti"}).exit_status, 0);
  const json profile_of_run = place.json();
  for (const json& event : profile_of_run["events"]) {
    ASSERT_EQ(event["cross_check_times_us"].size(), event["measured_times_ms"].size());
    for (std::size_t i = 0; i < event["cross_check_times_us"].size(); ++i) {
      EXPECT_NEAR(event["cross_check_times_us"][i].get<double>(), 2.016, 1e-6);
    }
  }
}

TEST(CuptiCrossCheck, HasNoTimesForLabels) {
  const Workplace place;
  ASSERT_EQ(run_training(place, {"INLINE_PROF_CROSS_CHECK=cupti"}, {"--iterations=60"}).exit_status,
            0);
  const json profile = place.json();
  for (const json& event : profile["events"]) {
    if (event["event_name"] == "kernel_c") continue;
    EXPECT_THAT(event["cross_check_times_us"], Each(nullptr));
  }
}

TEST(CuptiCrossCheck, MeasuresTheSameTimesAsAloneOnTheSimulatedGpu) {
  const Workplace with, without;
  ASSERT_EQ(run_training(with, {"INLINE_PROF_CROSS_CHECK=cupti"}).exit_status, 0);
  ASSERT_EQ(run_training(without, {}).exit_status, 0);
  const json watched = with.json();
  const json alone = without.json();
  ASSERT_EQ(watched["events"].size(), alone["events"].size());
  for (std::size_t i = 0; i < watched["events"].size(); ++i) {
    EXPECT_EQ(watched["events"][i]["measured_times_ms"], alone["events"][i]["measured_times_ms"]);
  }
  EXPECT_FALSE(alone.contains("cross_check"));
  EXPECT_FALSE(alone["events"][0].contains("cross_check_times_us"));
}

TEST(CuptiCrossCheck, StandsAsideForAnotherClient) {
  const Workplace place;
  const HostRun run = run_client(place, "first", "INLINE_PROF_CROSS_CHECK=cupti");
  const std::string sentence =
      "no cross-check: CUPTI serves one tool at a time, and another one has it (CUPTI for host)";
  EXPECT_EQ(run.output, "inline_prof: " + sentence + "\nhost ok\n");
  const json profile = place.json();
  EXPECT_EQ(profile["complete"], true);
  EXPECT_FALSE(profile.contains("cross_check"));
  EXPECT_THAT(profile["warnings"], testing::Contains(sentence));
  EXPECT_EQ(profile["events"].size(), 2U);
}

TEST(CuptiCrossCheck, LeavesCuptiToWhoeverComesAfterIt) {
  const Workplace place;
  const HostRun run = run_client(place, "later", "INLINE_PROF_CROSS_CHECK=cupti");
  EXPECT_EQ(run.output, "host ok\n");
  EXPECT_EQ(place.json()["cross_check"]["launches"], 6);  // three iterations of two
}

TEST(CuptiCrossCheck, ThatCannotRecordIsSaidAndLeftOut) {
  const Workplace place;
  const HostRun run =
      run_training(place, {"INLINE_PROF_CROSS_CHECK=cupti", "SIMGPU_FAIL=cuptiActivityEnable:35"});
  EXPECT_EQ(run.output,
            "inline_prof: no cross-check: cuptiActivityEnable failed (CUptiResult 35)\n"
            "host ok, 300 launches\n");
  EXPECT_EQ(calls_of(place, "cuptiUnsubscribe"), 1U);
  EXPECT_EQ(place.json()["complete"], true);
}

}  // namespace
}  // namespace inline_prof::test
