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
// driver, of one that looks it up, and of one that does both.
TEST(ALimiterBehindUs, SeesEveryLaunchOfTheApplications) {
  if (INLINE_PROF_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer looks up by dlsym itself";
  const std::string tool = INLINE_PROF_TEST_LAUNCH_TOOL;
  const std::vector<std::tuple<const char*, Texts, const char*>> programs{
      {"host_training", {"--iterations=60"}, "INLINE_PROF_LOG=quiet"},
      {"host_lookup", {}, "INLINE_PROF_LOG=quiet"},
      {"host_ways", {"unusual", "it looks launches up, too"}, "LAUNCH_TOOL_LOOKUPS=0"}};
  for (const auto& [host, arguments, setting] : programs) {
    const HostRun alone = run_host(host, {.arguments = arguments,
                                          .environment = {"LD_PRELOAD=" + tool, setting},
                                          .with_library = false});
    const HostRun run = run_host(
        host, {.arguments = arguments,
               .environment = {std::string("LD_PRELOAD=") + INLINE_PROF_TEST_PRELOAD + ":" + tool,
                               "INLINE_PROF_WARMUP=3", "INLINE_PROF_REPEAT=5",
                               "INLINE_PROF_OVERHEAD=0", "INLINE_PROF_LOG=quiet", setting}});
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

// --- look-ups of functions: programs find what they would have found without the library

HostOptions alone(HostOptions options) {
  options.with_library = false;
  return options;
}

TEST(Lookups, FindWhatTheyWouldHaveFoundWithoutUsAndAreWrappedOnEveryPath) {
  const ProfiledRun injected("host_lookup");
  const HostRun plain = run_host("host_lookup", alone({}));
  EXPECT_EQ(plain.exit_status, 0) << plain.output;
  EXPECT_THAT(plain.output, HasSubstr("before: default absent"));
  // Whether two look-ups give one address is up to the driver; all else must be equal.
  const auto head = [](const std::string& text) {
    const auto begin = text.find("before: ");
    return text.substr(begin, text.find("same ") - begin);
  };
  EXPECT_EQ(head(injected.output), head(plain.output));

  EXPECT_THAT(injected.output, HasSubstr("same yes\nstreams apart yes\nhost ok, 0 failures"));
  // Five launches by five look-ups, no iteration.
  EXPECT_EQ(injected.profile["overhead"]["launches_seen"], 5);
  // Too few for samples.  The kernel and its launches are listed all the same, one event a stream.
  int calls = 0;
  for (const auto& event : injected.profile["events"]) {
    EXPECT_EQ(event["kernel_name"], "k");
    EXPECT_TRUE(event["measured_times_ms"].empty());
    calls += event["calls"].get<int>();
  }
  EXPECT_EQ(calls, 5);
}

// Weak references, look-ups of libraries that are not there, two copies of one, and exceptions that
// they throw.
TEST(Copies, AreReachedAsTheyWouldBeWithoutUs) {
  const HostOptions options{.arguments = {INLINE_PROF_TEST_COPIES},
                            .environment = {"LD_LIBRARY_PATH=" INLINE_PROF_TEST_COPIES}};
  const HostRun injected = run_host("host_copies", options);
  const HostRun plain = run_host("host_copies", alone(options));
  EXPECT_EQ(plain.exit_status, 0) << plain.output;
  EXPECT_EQ(injected.exit_status, 0) << injected.output;
  EXPECT_THAT(plain.output, HasSubstr("weak absent absent\n"));
  EXPECT_THAT(plain.output, HasSubstr("linked 1 2 1\nin scope 1 2\nlooked up 1 2 3\n"));
  EXPECT_THAT(plain.output, HasSubstr("thrown 21, then 1\n"));
  // Only where the functions lie may differ, which shows that the library is there at all.
  const auto lines = [](const HostRun& run, bool about_places) {
    Texts kept;
    std::ranges::copy_if(lines_of(run.output), std::back_inserter(kept), [&](const auto& line) {
      return (line.find(" in lib") != std::string::npos) == about_places;
    });
    return kept;
  };
  EXPECT_EQ(lines(injected, false), lines(plain, false));
  EXPECT_THAT(lines(plain, true),
              ElementsAre("first in libcublas.so.13", "third in libcublas-third.so.13"));
  EXPECT_THAT(lines(injected, true),
              ElementsAre("first in libinline_prof.so", "third in libcublas-third.so.13"));
}

}  // namespace
}  // namespace inline_prof::test
