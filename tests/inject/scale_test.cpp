// The library's use of memory, stack, locks and clocks is bounded, and no launch is lost.
#include "run_host.hpp"
#include "testing.hpp"

namespace inline_prof::test {
namespace {

// Under a sanitizer the same takes longer.
constexpr long kLaunches = INLINE_PROF_TEST_SANITIZED ? 200'000 : 1'000'000;

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

HostOptions scale(const Texts& sizes, const Texts& settings) {
  return {.arguments = sizes, .environment = settings, .seconds = 120};
}

TEST(EightThreads, OnEightSharedStreamsOfTwoDevicesLoseNoLaunch) {
  // The driver's own work is left out: ours is what is counted.
  const ProfiledRun run("host_scale", scale({"2", "4", "8", std::to_string(kLaunches)},
                                            {"SIMGPU_DEVICES=2", "SIMGPU_LAUNCH=null",
                                             "INLINE_PROF_ITERATION=macro"}));
  EXPECT_EQ(run.profile["overhead"]["launches_seen"], printed_by(run).launches);
  long calls = 0;
  for (const json& event : run.profile["events"])
    calls += event["calls"].get<long>();
  EXPECT_EQ(calls, printed_by(run).launches);
  EXPECT_EQ(run.profile["events"].size(), 8U);
}

// In each half of the warm-up a kernel is met for the first time.
TEST(LookUps, OfAKernelAreMadeTwiceHoweverOftenItIsLaunched) {
  constexpr long kernels = 14;
  const ProfiledRun run("host_phases", {.arguments = {"--marks", "steps:12:100"},
                                        .environment = {"SIMGPU_LOG=calls.txt"}});
  const Texts calls = lines_of(run.place.content("calls.txt"));
  EXPECT_GE(std::ranges::count(calls, "cuLaunchKernel"), 100 * kernels);
  for (const char* look_up : {"cuFuncGetName", "cuFuncGetModule", "cuStreamGetCtx"})
    EXPECT_EQ(std::ranges::count(calls, look_up), 2 * kernels) << look_up;
  for (const char* of_two : {"cuFuncGetAttribute", "cuOccupancyMaxActiveBlocksPerMultiprocessor"})
    EXPECT_EQ(std::ranges::count(calls, of_two), 4 * kernels) << of_two;
}

TEST(EightThreads, MeetEachOccurrenceOnce) {
  const ProfiledRun run(
      "host_scale", scale({"2", "4", "8", "32000", "100"},
                          {"SIMGPU_DEVICES=2", "INLINE_PROF_REPEAT=1", "INLINE_PROF_OVERHEAD=0"}));
  // 320 launches an iteration: 40 on each of eight streams, numbered from 0 without a gap.
  ASSERT_EQ(run.profile["events"].size(), 320U);
  std::map<std::string, std::vector<int>> occurrences;
  for (const json& event : run.profile["events"]) {
    occurrences[event["stream"].get<std::string>() + event["device_id"].dump()].push_back(
        event["met_times_within_this_stream"]);
  }
  EXPECT_EQ(occurrences.size(), 8U);
  for (auto& [stream, numbers] : occurrences) {
    std::sort(numbers.begin(), numbers.end());
    for (std::size_t i = 0; i < numbers.size(); ++i)
      EXPECT_EQ(numbers[i], static_cast<int>(i)) << stream;
  }
}

// A sanitizer has frames, an allocator and memory of its own.
class WithoutSanitizer : public Test {
 protected:
  void SetUp() override {
    if (INLINE_PROF_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer has an allocator of its own";
  }
};
using HostMemory = WithoutSanitizer;
using TheFile = WithoutSanitizer;
using TheStack = WithoutSanitizer;
using AnUnmeasuredLaunch = WithoutSanitizer;
using AReplayThatIsMeasured = WithoutSanitizer;
using AnAllocatorThatFails = WithoutSanitizer;

TEST_F(HostMemory, IsFlatOverManyLaunches) {
  const auto kib_of = [](long launches) {
    return printed_by(
               run_host("host_scale", scale({"1", "1", "1", std::to_string(launches)},
                                            {"SIMGPU_LAUNCH=null", "INLINE_PROF_ITERATION=macro"})))
        .kib;
  };
  EXPECT_LT(kib_of(2 * kLaunches) - kib_of(kLaunches / 10), 1024)
      << "KiB more for twenty times the launches";
}

// However many samples are wanted: those to come take none.
TEST_F(HostMemory, StaysBelow16MiB) {
  for (const Texts& sizes :
       {Texts{"1", "4", "1", "200000", "200"}, Texts{"1", "1", "1", "20000", "100"}}) {
    HostOptions options = scale(sizes, {"SIMGPU_LAUNCH=null", "INLINE_PROF_REPEAT=5000"});
    const long with_library = printed_by(run_host("host_scale", options)).kib;
    options.with_library = false;
    EXPECT_LT(with_library - printed_by(run_host("host_scale", options)).kib, 16 * 1024);
  }
}

TEST_F(TheFile, OfTwoHundredEventsWithFiftySamplesIsBelowAMebibyte) {
  const ProfiledRun run("host_scale", scale({"1", "1", "1", std::to_string(200 * 10'100), "10100"},
                                            {"INLINE_PROF_OVERHEAD=0"}));
  EXPECT_EQ(run.profile["events"].size(), 200U);
  EXPECT_EQ(run.profile["complete"], true);
  EXPECT_LT(run.place.content("prof.json").size(), std::size_t{1} << 20U);
}

// --- the stack of the application's threads

constexpr std::size_t kMostBytes = 4096;

HostOptions stack(const Texts& arguments, const Texts& environment = {}) {
  return {
      .arguments = arguments,
      .environment = environment,
      .files = {{"schedule.json", R"({"warmup": 5, "repeat": 5, "patterns": [{"match": "*"}]})"}}};
}

std::map<std::string, std::size_t> bytes_by_call(const HostRun& run) {
  EXPECT_EQ(run.exit_status, 0) << run.output;
  std::map<std::string, std::size_t> bytes;
  for (const std::string& line : lines_of(without_our_lines(run.output))) {
    const auto colon = line.rfind(": ");
    if (colon != std::string::npos)
      bytes[line.substr(0, colon)] = std::stoul(line.substr(colon + 2));
  }
  return bytes;
}

// Each kind of call, at its deepest: also the calls in which the run begins and ends, a schedule
// and a name of 900 letters are read, and the plan is made.
TEST_F(TheStack, OfTheApplicationsThreadsIsHardlyUsed) {
  const auto bare = bytes_by_call(run_host("host_stack", {.with_library = false}));
  ASSERT_GE(bare.size(), 10U);
  for (const std::string mode : {"fine_grained", "one_shot"}) {
    for (const auto& [call, bytes] :
         bytes_by_call(run_host("host_stack", stack({}, {"INLINE_PROF_MODE=" + mode})))) {
      ASSERT_TRUE(bare.contains(call)) << call;
      EXPECT_LE(bytes, bare.at(call) + kMostBytes) << call << " in mode " << mode;
    }
  }
}

TEST_F(TheStack, OfASmallThreadIsEnough) {
  const ProfiledRun run("host_stack", stack({"--tiny"}));
  EXPECT_EQ(run.output, "host ok\n");
  EXPECT_FALSE(run.profile["events"].empty());
}

// --- the allocator, locks and clocks

HostOptions counting(const Texts& arguments, const Texts& environment = {"SIMGPU_LAUNCH=null"}) {
  return {
      .arguments = arguments, .environment = environment, .files = {{"prof.events", "armed\n"}}};
}

// The launch wrappers are also read as machine code: link_rules.
TEST_F(AnUnmeasuredLaunch, NeitherAllocatesNorLocksNorReadsAClock) {
  const ProfiledRun run("host_counting", counting({"launches"}));
  EXPECT_THAT(run.output, HasSubstr("host ok, 0 allocations, 0 locks, 0 clock reads"));
  // The hook ran: 20 iterations end within the schedule of 10 + 50.
  EXPECT_EQ(run.profile["overhead"]["armed_iterations"], 10);
  // The counters do count: the same program over a driver that does simulate.
  const HostRun simulated = run_host("host_counting", counting({"launches"}, {}));
  EXPECT_EQ(simulated.exit_status, 0) << simulated.output;
  EXPECT_THAT(simulated.output, Not(HasSubstr(" 0 locks")));
}

TEST_F(AnAllocatorThatFails, EndsProfilingAndNotTheHost) {
  HostOptions options = counting({"failure"});
  options.files.clear();
  const HostRun run = run_host("host_counting", options);
  EXPECT_EQ(run.exit_status, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("inline_prof: profiling is off: memory: there is none left\n"));
  EXPECT_THAT(run.output, HasSubstr("host ok"));
}

// The number before the last `words`, -1 if there is none.
int last_number_before(const std::string& text, const std::string& words) {
  const std::size_t end = text.rfind(words);
  if (end == std::string::npos) return -1;
  const std::size_t begin = text.find_last_not_of("0123456789", end - 1) + 1;
  return std::stoi(text.substr(begin, end - begin));
}

TEST_F(AReplayThatIsMeasured, AllocatesNothing) {
  HostOptions options =
      counting({"replays"}, {"SIMGPU_MODEL=model.json", "INLINE_PROF_REPEAT=700",
                             "INLINE_PROF_OVERHEAD=0", "INLINE_PROF_EXIT_WHEN_DONE=1"});
  options.files = {{"model.json", model_of_numbered_kernels(8, 3, R"("noise": 0.003)")}};
  const ProfiledRun run("host_counting", options);
  ASSERT_EQ(run.profile["events"].size(), 2U);
  for (const json& event : run.profile["events"]) {
    EXPECT_EQ(event["flags"], json::array({"graph_node"}));
    EXPECT_EQ(event["measured_times_ms"].size(), 700U);
  }
  EXPECT_EQ(last_number_before(run.output, " allocations of the library"), 0) << run.output;
  // The counters do count: the library allocates when a graph is made, the simulated driver for
  // each launch.
  EXPECT_EQ(run.output.find("instantiate: 0 "), std::string::npos) << run.output;
  EXPECT_GT(last_number_before(run.output, " in all"), 100) << run.output;
}

}  // namespace
}  // namespace inline_prof::test
