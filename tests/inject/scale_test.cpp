// Many launches, many threads: nothing is lost, nothing grows.
#include "run_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace inline_prof::test {
namespace {

using nlohmann::json;

// Sanitizers only want more time.
constexpr long kLaunches = INLINE_PROF_TEST_SANITIZED ? 200'000 : 4'000'000;

struct Printed {
  long launches = 0;
  long kib = 0;
};

Printed printed_by(const HostRun& run) {
  Printed printed;
  const auto at = run.output.find("host ok");
  EXPECT_NE(at, std::string::npos) << run.output;
  if (at == std::string::npos) return printed;
  EXPECT_EQ(std::sscanf(run.output.c_str() + at, "host ok, %ld launches, %ld KiB",
                        &printed.launches, &printed.kib),
            2)
      << run.output;
  return printed;
}

TEST(EightThreads, OnEightSharedStreamsOfTwoDevicesLoseNoLaunch) {
  const Workplace place;
  const HostRun run = run_host(
      place, "host_scale",
      {.arguments = {"2", "4", "8", std::to_string(kLaunches)},
       // The driver's own work is left out: ours is what is counted.
       .environment = {"SIMGPU_DEVICES=2", "SIMGPU_LAUNCH=null", "INLINE_PROF_ITERATION=macro"},
       .seconds = 120});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  const json profile = place.json();
  EXPECT_EQ(profile["overhead"]["launches_seen"], printed_by(run).launches);
  std::uint64_t calls = 0;
  for (const json& event : profile["events"])
    calls += event["calls"].get<std::uint64_t>();
  EXPECT_EQ(calls, static_cast<std::uint64_t>(printed_by(run).launches));
  EXPECT_EQ(profile["events"].size(), 8U);
}

TEST(EightThreads, MeetEachOccurrenceOnce) {
  const Workplace place;
  const HostRun run = run_host(
      place, "host_scale",
      {.arguments = {"2", "4", "8", "32000", "100"},
       .environment = {"SIMGPU_DEVICES=2", "INLINE_PROF_REPEAT=1", "INLINE_PROF_OVERHEAD=0"}});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  const json profile = place.json();
  // 320 launches an iteration: 40 on each of eight streams, numbered from 0 without a gap.
  ASSERT_EQ(profile["events"].size(), 320U);
  std::map<std::string, std::vector<int>> occurrences;
  for (const json& event : profile["events"]) {
    occurrences[event["stream"].get<std::string>() + event["device_id"].dump()].push_back(
        event["met_times_within_this_stream"]);
  }
  EXPECT_EQ(occurrences.size(), 8U);
  for (auto& [stream, met] : occurrences) {
    std::sort(met.begin(), met.end());
    for (std::size_t i = 0; i < met.size(); ++i)
      EXPECT_EQ(met[i], static_cast<int>(i)) << stream;
  }
}

TEST(HostMemory, IsFlatOverManyLaunches) {
  if (INLINE_PROF_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer keeps memory of its own";
  long few = 0;
  long many = 0;
  for (long* kib : {&few, &many}) {
    const Workplace place;
    const long launches = kib == &few ? kLaunches / 10 : 2 * kLaunches;
    const HostRun run =
        run_host(place, "host_scale",
                 {.arguments = {"1", "1", "1", std::to_string(launches)},
                  .environment = {"SIMGPU_LAUNCH=null", "INLINE_PROF_ITERATION=macro"},
                  .seconds = 120});
    EXPECT_EQ(run.exit_status, 0) << run.output;
    *kib = printed_by(run).kib;
  }
  EXPECT_LT(many - few, 1024) << "KiB more for twenty times the launches";
}

TEST(HostMemory, StaysBelow16MiB) {
  if (INLINE_PROF_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer keeps memory of its own";
  const Workplace place;
  long kib[2] = {0, 0};
  for (const bool with_library : {false, true}) {
    const HostRun run = run_host(place, "host_scale",
                                 {.arguments = {"1", "4", "1", "200000", "200"},
                                  .environment = {"SIMGPU_LAUNCH=null"},
                                  .with_library = with_library});
    EXPECT_EQ(run.exit_status, 0) << run.output;
    kib[with_library ? 1 : 0] = printed_by(run).kib;
  }
  EXPECT_LT(kib[1] - kib[0], 16 * 1024);
}

TEST(TheFile, OfTwoHundredEventsWithFiftySamplesIsBelowAMebibyte) {
  if (INLINE_PROF_TEST_SANITIZED) GTEST_SKIP() << "two million launches, for the size of a file";
  const Workplace place;
  const HostRun run = run_host(place, "host_scale",
                               {.arguments = {"1", "1", "1", std::to_string(200 * 10'100), "10100"},
                                .environment = {"INLINE_PROF_OVERHEAD=0"},
                                .seconds = 120});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  const json profile = place.json();
  EXPECT_EQ(profile["events"].size(), 200U);
  EXPECT_EQ(profile["complete"], true);
  EXPECT_LT(place.text("prof.json").size(), std::size_t{1} << 20U);
}

}  // namespace
}  // namespace inline_prof::test
