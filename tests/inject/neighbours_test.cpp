// Other libraries that are preloaded into the application, before and behind ours.
#include "run_host.hpp"
#include "testing.hpp"

namespace inline_prof::test {
namespace {

struct Neighbour {
  const char* name;
  const char* library;
  bool comes_first;
};

class APreloadedNeighbour : public TestWithParam<Neighbour> {};

TEST_P(APreloadedNeighbour, ChangesNothingForTheHostNorForUs) {
  if (INLINE_PROF_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer has an allocator of its own";
  const std::string ours = INLINE_PROF_TEST_PRELOAD;
  const std::string other = GetParam().library;
  const ProfiledRun run(
      "host_training",
      {.arguments = {"--iterations=60"},
       .environment = {
           "LD_PRELOAD=" + (GetParam().comes_first ? other + ":" + ours : ours + ":" + other),
           "INLINE_PROF_WARMUP=3", "INLINE_PROF_REPEAT=5", "INLINE_PROF_OVERHEAD=0"}});
  EXPECT_EQ(run.output, "host ok, 300 launches\n");
  EXPECT_EQ(run.profile["complete"], true);
  ASSERT_EQ(run.profile["events"].size(), 3U);
  EXPECT_EQ(run.profile["events"][0]["measured_times_ms"].size(), 5U);
}

INSTANTIATE_TEST_SUITE_P(
    All, APreloadedNeighbour,
    Values(Neighbour{"AnAllocatorBeforeUs", INLINE_PROF_TEST_MALLOC_TOOL, true},
           Neighbour{"AnAllocatorBehindUs", INLINE_PROF_TEST_MALLOC_TOOL, false},
           Neighbour{"AnotherDlsymBeforeUs", INLINE_PROF_TEST_DLSYM_TOOL, true},
           Neighbour{"AnotherDlsymBehindUs", INLINE_PROF_TEST_DLSYM_TOOL, false}),
    [](const auto& row) { return std::string(row.param.name); });

// A library behind us sees the same launches as without us, of a program that was linked with the
// driver and of one that looks it up.
TEST(ALimiterBehindUs, SeesEveryLaunchOfTheApplications) {
  if (INLINE_PROF_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer looks up by dlsym itself";
  const std::string tool = INLINE_PROF_TEST_LAUNCH_TOOL;
  for (const auto& [host, arguments] :
       {std::pair{"host_training", Texts{"--iterations=60"}}, std::pair{"host_lookup", Texts{}}}) {
    const HostRun alone = run_host(
        host,
        {.arguments = arguments, .environment = {"LD_PRELOAD=" + tool}, .with_library = false});
    const HostRun run = run_host(
        host, {.arguments = arguments,
               .environment = {std::string("LD_PRELOAD=") + INLINE_PROF_TEST_PRELOAD + ":" + tool,
                               "INLINE_PROF_WARMUP=3", "INLINE_PROF_REPEAT=5",
                               "INLINE_PROF_OVERHEAD=0", "INLINE_PROF_LOG=quiet"}});
    const auto seen = [](const std::string& output) {
      return output.substr(std::min(output.rfind("host ok"), output.size()));
    };
    EXPECT_EQ(alone.exit_status, 0) << alone.output;
    EXPECT_EQ(run.exit_status, 0) << run.output;
    EXPECT_EQ(seen(run.output), seen(alone.output)) << host;
  }
}

// Its launches are on their way whenever a pair is opened: the tool that holds them is not seen by
// the library.
TEST(AThreadThatLaunchesLate, IsInNobodysSamples) {
  if (INLINE_PROF_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer looks up by dlsym itself";
  const ProfiledRun run(
      "host_late_thread",
      {.environment = {std::string("LD_PRELOAD=") + INLINE_PROF_TEST_PRELOAD +
                           ":" INLINE_PROF_TEST_TURNS_TOOL,
                       "SIMGPU_MODEL=model.json", "SIMGPU_HOST_SPEED=0", "INLINE_PROF_WARMUP=5",
                       "INLINE_PROF_REPEAT=6", "INLINE_PROF_OVERHEAD=0"},
       .files = {{"model.json", R"({"rules": [
           {"name": "of_the_loop", "duration_us": 10, "per_block_us": 0},
           {"name": "of_the_other", "duration_us": 1000, "per_block_us": 0}]})"}}});
  EXPECT_GE(run.profile["dropped"]["interleaved_launch"], 5);
  ASSERT_EQ(run.profile["events"].size(), 6U);
  for (const auto& event : run.profile["events"]) {
    for (const double sample_ms : event["measured_times_ms"])
      EXPECT_NEAR(sample_ms, 0.010, 1e-5) << event["event_name"];
  }
}

}  // namespace
}  // namespace inline_prof::test
