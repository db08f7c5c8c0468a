// Runs that go on measuring once they have their samples (INLINE_PROF_WATCH).
#include "run_host.hpp"
#include "testing.hpp"

#include <bit>
#include <sys/mount.h>

namespace inline_prof::test {
namespace {

// Kernels take 30 us, but for a_0_ with 64 blocks.
constexpr const char* kModel =
    R"({"noise": 0.03, "events": {"pair_bias_us": 2.0, "pair_jitter_us": 0.1},
        "rules": [{"name": "a_0_", "grid": [64, 1, 1], "duration_us": 45},
                  {"name": "*", "duration_us": 30}]})";

HostOptions watched(const Texts& arguments, const Texts& settings = {}) {
  return {.arguments = arguments,
          .environment =
              joined({"SIMGPU_MODEL=model.json", "INLINE_PROF_REPEAT=5", "INLINE_PROF_OVERHEAD=0",
                      "INLINE_PROF_WATCH=10%", "INLINE_PROF_CHECKPOINT=1"},
                     settings),
          .files = {{"model.json", kModel}}};
}

std::int64_t samples_in(const json& bins) {
  for (std::size_t i = 0; i < bins["counts"].size(); ++i)
    EXPECT_LE(bins["first_iteration"][i], bins["last_iteration"][i]);
  std::int64_t samples = 0;
  for (const json& counts : bins["counts"]) {
    for (const json& count : counts)
      samples += count.get<std::int64_t>();
  }
  return samples;
}

// The watched samples of a phase's events.
std::int64_t watched_samples(const json& profile, int phase) {
  std::int64_t samples = 0;
  for (const json& event : profile["events"]) {
    if (event["phase"] == phase && event.contains("history"))
      samples += samples_in(event["history"]);
  }
  return samples;
}

using WatchedRun = MarkedOrFound;
INLINE_PROF_MARKED_AND_FOUND(WatchedRun);

TEST_P(WatchedRun, GoesOnWithoutTouchingItsFirstSamples) {
  const ProfiledRun run("host_phases", watched(program({"a:40:700", "a:40:2500:pause=1000"})));
  EXPECT_THAT(run.output, HasSubstr("host ok\n"));
  const json& profile = run.profile;
  EXPECT_EQ(profile["complete"], true) << run.output;
  expect_samples_of_each(profile, 5U);
  const json& history = profile["history"];
  EXPECT_GT(history["pairs"], 50);
  EXPECT_GT(history["until_s"], history["started_s"].get<double>() + 2);
  EXPECT_GT(samples_in(history["iteration"]), 10);
  EXPECT_GT(watched_samples(profile, 0), 40);
  for (const json& event : profile["events"]) {
    if (!event.contains("history")) continue;
    const json& bins = event["history"];
    EXPECT_GT(bins["first_iteration"][0], event["iterations"].back());
    // 30 us and two records: the 1 % of the sketch and 15 % of noise.
    constexpr double ratio = 1.01 / 0.99;
    EXPECT_NEAR(std::pow(ratio, bins["first_bucket"][0].get<double>()), 32'000, 6'000);
  }
}

TEST(AWatchedRun, KeepsToItsShare) {
  const ProfiledRun run("host_phases", watched({"--marks", "a:40:700", "a:40:2500:pause=1000"},
                                               {"INLINE_PROF_WATCH=0.2%"}));
  const json& history = run.profile["history"];
  EXPECT_GT(history["pairs"], 0);
  // The thread's cost is read from a clock, and sanitized code is several times slower.
  EXPECT_LE(history["cost_share"], INLINE_PROF_TEST_SANITIZED ? 0.02 : 0.002);
  const double seconds = history["until_s"].get<double>() - history["started_s"].get<double>();
  // Each pair takes two records of 2 us on the GPU.
  EXPECT_LE(history["pairs"].get<double>() * 4e-6, 0.002 * seconds);
}

TEST(AWatchedRun, EndsAsAnyOtherWithoutTheSetting) {
  const ProfiledRun run("host_phases", watched({"--marks", "a:10:300"}, {"INLINE_PROF_WATCH=0"}));
  EXPECT_EQ(run.profile["complete"], true);
  EXPECT_FALSE(run.profile.contains("history"));
}

TEST(AWatchedRun, IsRefusedBesideTheEndOfTheProgramAndLeftOutInOtherModes) {
  const HostRun refused =
      run_host("host_phases", watched({"--marks", "a:10:100"}, {"INLINE_PROF_EXIT_WHEN_DONE=1"}));
  EXPECT_THAT(refused.output, HasSubstr("expected 0 beside INLINE_PROF_WATCH"));
  EXPECT_THAT(refused.output, HasSubstr("host ok\n"));
  const ProfiledRun one_shot(
      "host_phases",
      watched({"--marks", "a:10:300"}, {"INLINE_PROF_MODE=one_shot", "PROFILING_REPEAT_ITERS=50"}));
  EXPECT_FALSE(one_shot.profile.contains("history"));
  EXPECT_THAT(one_shot.output, HasSubstr("mode one_shot is not watched"));
}

// Found once, with the kernel and its iteration, and told to the user's command; the other kernels
// are as they were.  The clock runs 300 times as fast: a change is told after an hour, by blocks of
// half a minute.
TEST(AWatchedRun, FindsAKernelThatGetsSlowerAndSaysSoOnce) {
  constexpr const char* preloaded = INLINE_PROF_TEST_CLOCK_TOOL ":" INLINE_PROF_TEST_PRELOAD;
  const ProfiledRun run(
      "host_phases",
      watched({"--marks", "a:8:200", "a:8:18000:pause=1000", "a:8:5000:one=64:pause=1000"},
              {std::string("LD_PRELOAD=") + preloaded, "CLOCK_SPEED=300", "RANK=3",
               "INLINE_PROF_OUT=prof.json",
               "INLINE_PROF_ON_CHANGE=env | grep CHANGE_ | sort >> changes"}));
  const json& profile = run.profile;
  ASSERT_EQ(profile["phases"].size(), 1U);
  std::vector<json> of_kernel;
  for (const json& change : profile["history"]["changes"]) {
    EXPECT_GT(change["ratio"], 1);
    if (change["of"] != "event") continue;
    EXPECT_EQ(profile["events"][change["event"].get<std::size_t>()]["event_name"], "a_0_");
    of_kernel.push_back(change);
  }
  ASSERT_EQ(of_kernel.size(), 1U) << run.output;
  EXPECT_NEAR(of_kernel[0]["ratio"], 1.5, 0.05);
  EXPECT_NEAR(of_kernel[0]["before_us"], 30, 2);
  EXPECT_NEAR(of_kernel[0]["began_iteration"], 18'200, 1'000);
  EXPECT_GE(of_kernel[0]["detected_s"], of_kernel[0]["began_s"]);
  std::size_t lines = 0;
  for (const json& warning : profile["warnings"])
    if (warning.get<std::string>().find(" became ") != std::string::npos) ++lines;
  EXPECT_EQ(lines, 1U) << profile["warnings"];
  // The program has seen neither SIGCHLD nor a child.
  EXPECT_THAT(run.output, HasSubstr("host ok\n"));
  const std::string told = run.place.content("changes");
  EXPECT_THAT(told, HasSubstr("CHANGE_NAME=a_0_\nCHANGE_OF=event\nCHANGE_RANK=3\nCHANGE_RATIO=1."));
  EXPECT_THAT(told, HasSubstr("CHANGE_FILE=" + run.place.path("")));
  EXPECT_EQ(lines_of(told).size(), 11U) << told;
}

// The iterations that events were last measured in agree, though nobody has talked.
TEST(AWatchedRun, MeasuresTheSameOnTwoRanks) {
  std::vector<json> profiles(2);
  std::vector<std::thread> ranks;
  ranks.reserve(2);
  for (int rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([&profiles, rank] {
      const ProfiledRun run("host_phases", watched({"--marks", "a:40:700", "a:40:2500:pause=1000"},
                                                   {"RANK=" + std::to_string(rank), "WORLD_SIZE=2",
                                                    "INLINE_PROF_OUT=prof.json"}));
      profiles[static_cast<std::size_t>(rank)] = run.profile;
    });
  }
  for (std::thread& rank : ranks)
    rank.join();
  int equal = 0;
  int both = 0;
  for (std::size_t i = 0; i < profiles[0]["events"].size(); ++i) {
    const json& first = profiles[0]["events"][i];
    const json& second = profiles[1]["events"][i];
    if (!first.contains("history") || !second.contains("history")) continue;
    ++both;
    if (first["history"]["last_iteration"].back() == second["history"]["last_iteration"].back())
      ++equal;
  }
  EXPECT_GT(both, 20);
  EXPECT_GT(2 * equal, both);  // one of the two may afford fewer pairs
}

TEST_P(WatchedRun, FollowsPhases) {
  const ProfiledRun run(
      "host_phases",
      watched(program({"--times=3", "train:8:600:pause=1000", "eval:6:600:pause=1000"}),
              {"INLINE_PROF_OVERHEAD=64"}));
  const json& profile = run.profile;
  // The second one is met after the overhead was measured.
  for (const json& event : profile["events"])
    EXPECT_GE(event["measured_times_ms"].size(), 4U) << event["event_name"];
  ASSERT_EQ(profile["phases"].size(), 2U) << run.output;
  EXPECT_GE(profile["phases"][0]["stretches"].size(), 3U);
  EXPECT_GT(watched_samples(profile, 0), 10);
  EXPECT_GT(watched_samples(profile, 1), 10);
  EXPECT_EQ(profile["complete"], true) << run.output;
}

// One after the other, by clones.
TEST(AWatchedRun, MeasuresKernelsInsideGraphs) {
  const ProfiledRun run("host_phases", watched({"--marks", "g:8:9000:graph:pause=1000"}));
  const json& profile = run.profile;
  EXPECT_EQ(profile["complete"], true) << run.output;
  int visited = 0;
  int cut_short = 0;  // planned too late on a slow machine, or at the end
  for (const json& event : profile["events"]) {
    EXPECT_EQ(event["flags"], json::array({"graph_node"}));
    EXPECT_EQ(event["measured_times_ms"].size(), 5U);
    if (!event.contains("history")) continue;
    ++visited;
    if (samples_in(event["history"]) % 16 != 0) ++cut_short;
  }
  EXPECT_GE(visited, 3);
  EXPECT_LT(2 * cut_short, visited);
  EXPECT_GT(samples_in(profile["history"]["iteration"]), 10);
}

// Also where the clock is set back by an hour.
TEST(AWatchedRun, LosesASecondIfItIsKilled) {
  const Workplace place;
  const HostRun run =
      run_host(place, "host_phases",
               watched({"--marks", "--kill", "a:40:700", "a:40:3500:pause=1000"},
                       {"LD_PRELOAD=" INLINE_PROF_TEST_CLOCK_TOOL ":" INLINE_PROF_TEST_PRELOAD,
                        "CLOCK_AHEAD=3600"}));
  EXPECT_EQ(run.exit_status, 128 + 9);
  const json profile = place.json();
  EXPECT_EQ(profile["complete"], true);
  const json& history = profile["history"];
  // 3,500 iterations of a millisecond and more.
  EXPECT_GT(history["until_s"], history["started_s"].get<double>() + 1);
  EXPECT_GT(samples_in(history["iteration"]), 5);
}

// Days of a thousand events with few samples: as many as the clock allows.  After a month of all
// samples histories and detectors take 7.5 MB (AMonth), and prof.json is 4 MB.
TEST(AWatchedRun, OfAThousandEventsStaysBelow16MiB) {
  if (INLINE_PROF_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer has an allocator of its own";
  const ProfiledRun run("host_scale",
                        watched({"1", "1", "1", "1500000", "1500"},
                                {"LD_PRELOAD=" INLINE_PROF_TEST_HEAP_TOOL
                                 ":" INLINE_PROF_TEST_CLOCK_TOOL ":" INLINE_PROF_TEST_PRELOAD,
                                 "CLOCK_SPEED=86400", "HEAP_FILE=heap", "SIMGPU_LAUNCH=null",
                                 "INLINE_PROF_REPEAT=50", "INLINE_PROF_POLICY=adaptive",
                                 "INLINE_PROF_TARGET_CI=0.3", "INLINE_PROF_CHECKPOINT=5"}));
  long histories = 0;
  for (const json& event : run.profile["events"])
    histories += event.contains("history") ? 1 : 0;
  EXPECT_GE(histories, 20);
  constexpr long after_a_month = 7'500'000 + 4'000'000 / 16 * 17;
  // A history's bins and a detector have so much at least; the first text doubles its memory.
  constexpr long with_few_samples = 2'200;
  const auto text = static_cast<long>(std::bit_ceil(run.place.content("prof.json").size()) * 3 / 2);
  const long others = std::stol(run.place.content("heap")) - histories * with_few_samples - text;
  EXPECT_LE(others + after_a_month, 16L << 20U);
}

TEST(AWatchedRun, SurvivesADiskThatFillsUpAndEmpties) {
  const Workplace place;
  const std::filesystem::path disk = place.path("disk");
  std::filesystem::create_directory(disk);
  if (mount("none", disk.c_str(), "tmpfs", 0, "size=512k") != 0)
    GTEST_SKIP() << "only root may mount";
  std::thread filler([&disk] {
    std::this_thread::sleep_for(std::chrono::seconds(2));
    std::ofstream(disk / "filler") << std::string(1 << 20U, 'x');
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    std::filesystem::remove(disk / "filler");
  });
  const HostRun run = run_host(
      place, "host_phases",
      watched({"--marks", "a:40:700", "a:40:6000:pause=1000"}, {"INLINE_PROF_OUT=disk/prof.json"}));
  filler.join();
  const json profile = place.json("disk/prof.json");
  umount(disk.c_str());
  EXPECT_EQ(profile["complete"], true);
  EXPECT_GT(profile["history"]["until_s"], profile["history"]["started_s"].get<double>() + 5);
  EXPECT_EQ(count_lines(run.output, "No space left"), 1) << run.output;
}

// The clock runs 100 times as fast: NVML has a minute to answer.
TEST(AWatchedRun, GoesOnWithoutNvml) {
  for (const auto& [failure, sentence] : std::vector<std::pair<std::string, std::string>>{
           {"nvmlDeviceGetTemperature:hang", "NVML does not answer"},
           {"nvmlInit_v2:9", "nvmlInit_v2 failed"}}) {
    const ProfiledRun run("host_phases", watched({"--marks", "a:40:700", "a:40:2500:pause=1000"},
                                                 {"LD_PRELOAD=" INLINE_PROF_TEST_CLOCK_TOOL
                                                  ":" INLINE_PROF_TEST_PRELOAD,
                                                  "CLOCK_SPEED=100", "SIMGPU_FAIL=" + failure}));
    EXPECT_THAT(run.output, HasSubstr("host ok\n"));
    EXPECT_EQ(run.profile["complete"], true) << run.output;
    EXPECT_GT(run.profile["history"]["pairs"], 50);
    EXPECT_EQ(count_lines(run.output, sentence), 1) << failure << ": " << run.output;
  }
}

TEST(AWatchedRun, SleepsAndIsStoppedWithoutHarm) {
  // Half a second, a hundred usual iterations, five times.
  const ProfiledRun run("host_phases", watched({"--marks", "--times=5", "a:40:700:pause=500",
                                                "a:40:1:pause=500000"}));
  EXPECT_EQ(run.profile["complete"], true);
  EXPECT_LE(run.profile["history"]["cost_share"], 0.1);
  EXPECT_GT(run.profile["history"]["pairs"], 0);
}

}  // namespace
}  // namespace inline_prof::test
