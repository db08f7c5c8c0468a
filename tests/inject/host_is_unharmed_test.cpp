// Whatever goes wrong around the library, the application gets the same answers as without it.
// Faults are planted in the simulated driver and in the application's surroundings, never in our
// code.
#include "run_host.hpp"
#include "testing.hpp"

namespace inline_prof::test {
namespace {

const std::string kOk = "host ok, 1000 launches\n";
const std::string kOff = "inline_prof: profiling is off: ";

HostOptions two_hundred_iterations(const Texts& environment, const Texts& more = {}) {
  return {.arguments = joined({"--iterations=200"}, more), .environment = environment};
}

// A fault, and all that the program and the library print: they run to the end all the same.
struct Trouble {
  const char* name;
  Texts environment;
  Texts arguments = {};
  std::string said = {};    // by the library, first
  bool is_complete = true;  // prof.json; no file is written if it is not

  friend void PrintTo(const Trouble& row, std::ostream* out) { *out << row.name; }
};

class TheHost : public TestWithParam<Trouble> {};

TEST_P(TheHost, IsUnharmed) {
  const Workplace place;
  const HostRun run = run_host(
      place, "host_training", two_hundred_iterations(GetParam().environment, GetParam().arguments));
  EXPECT_EQ(run.exit_status, 0);
  EXPECT_EQ(run.output, GetParam().said + kOk);
  if (!GetParam().is_complete) return;
  EXPECT_THAT(place.names(), ElementsAre("prof.json"));
  EXPECT_EQ(place.json()["complete"], true);
}

std::string driver_without(const std::string& function) {
  return "LD_LIBRARY_PATH=" INLINE_PROF_TEST_OLDER_DRIVERS "/" + function;
}

std::vector<Trouble> all_troubles() {
  return {
      {"ByNothing", {}},            // a healthy profiler says nothing
      {"ByAFork", {}, {"--fork"}},  // the child writes nothing, the parent everything
      {"ByAProgramThatItStarts", {}, {"--vfork"}},
      {"ByAStreamThatGoes", {}, {"--destroy-stream"}},
      {"ByTwoThreadsAtACallSiteThatNothingOrders", {}, {"--share-a-site"}},
      {"ByADriverWithoutNames", {driver_without("cuFuncGetName")}},
      {"ByADriverWithoutWaits", {driver_without("cuStreamWaitValue32_v2")}},
      {"ByADriverWithoutCaptureModes", {driver_without("cuThreadExchangeStreamCaptureMode")}},
      {"ByADriverWithoutOccupancy",
       {driver_without("cuOccupancyMaxActiveBlocksPerMultiprocessor")}},
      // These two prove that the hooks ran at all: else there would be nothing to complain about.
      {"ByRecordsThatFail",
       {"SIMGPU_FAIL=cuEventRecord:719"},
       {},
       kOff + "cuEventRecord: failed 16 times in a row (CUresult 719)\n",
       false},
      {"ByEventsThatCannotBeMade",
       {"SIMGPU_FAIL=cuEventCreate:2"},
       {},
       kOff + "cuEventCreate: no events can be made in any context\n",
       false},
      // One line and then silence, however long the program runs.
      {"ByADriverWithoutWhatWeNeed",
       {driver_without("cuEventQuery")},
       {},
       kOff + "driver: cuEventQuery is not in libcuda.so.1\n",
       false},
  };
}

INSTANTIATE_TEST_SUITE_P(All, TheHost, ValuesIn(all_troubles()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(TheProgram, SeesItsOwnErrors) {
  const HostRun run = run_host(
      "host_training",
      two_hundred_iterations({"SIMGPU_FAIL=cuLaunchKernel:701"}, {"--expect-launch-error"}));
  EXPECT_EQ(run.exit_status, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("host ok, 0 launches"));
}

TEST(OneFailedRecord, IsOneSampleLessAndCounted) {
  // After the calibration's records, in the middle of the samples.
  const ProfiledRun run(
      "host_training", two_hundred_iterations({"SIMGPU_FAIL=cuEventRecord:719:after=700:count=1"}));
  EXPECT_EQ(run.output, kOk +
                            "inline_prof: 149 of 150 samples were taken; the others, of 1 event: "
                            "1 lost to errors of the driver\n");
  EXPECT_EQ(run.profile["dropped"]["cuda_errors"], 1);
  EXPECT_EQ(run.profile["complete"], true);  // with a reason
}

// --- calibration is left out, or ended, where it would wait for ever

Texts calibrated_states(const json& profile) {
  Texts states;
  for (const json& calibration : profile["calibration"])
    states.push_back(calibration["state"]);
  return states;
}

TEST(BusyCalibration, IsLeftOutWhereItCannotWork) {
  for (const auto& [settings, warning] :
       {std::pair{Texts{driver_without("cuStreamWaitValue32_v2")},
                  "no busy calibration: the driver has no stream memory operations"},
        std::pair{Texts{"CUDA_DEVICE_MAX_CONNECTIONS=1"}, "CUDA_DEVICE_MAX_CONNECTIONS is 1"},
        std::pair{Texts{"CUDA_LAUNCH_BLOCKING=1", "SIMGPU_HANG_LIMIT_S=5"},
                  "CUDA_LAUNCH_BLOCKING is set"}}) {
    const ProfiledRun run("host_training", two_hundred_iterations(settings));
    EXPECT_THAT(calibrated_states(run.profile), ElementsAre("idle", "graph")) << warning;
    EXPECT_THAT(run.profile["warnings"].dump(), HasSubstr(warning));
  }
}

// A tool that looks at one kernel at a time says nothing in the environment.
TEST(BusyCalibration, EndsTheHoldThatLaunchesWaitFor) {
  const ProfiledRun run("host_training", two_hundred_iterations({"SIMGPU_LAUNCH_BLOCKING=1",
                                                                 "SIMGPU_HANG_LIMIT_S=5"}));
  EXPECT_THAT(calibrated_states(run.profile), ElementsAre("idle", "busy", "graph"));
  EXPECT_TRUE(run.profile["calibration"][1].contains("empty_pair_us"));
  EXPECT_FALSE(run.profile["calibration"][1].contains("empty_kernel_pair_us"));
  EXPECT_THAT(run.profile["warnings"].dump(), HasSubstr("launches wait until they have run"));
}

// --- programs that change what lies around their launches

TEST(TheProgram, IsUnharmedWhenItIsCapturing) {
  const ProfiledRun run("host_training", two_hundred_iterations({"INLINE_PROF_POLICY=in_order"},
                                                                {"--capture", "--no-labels"}));
  // The application itself counts the nodes of its graph: an event of ours would be a third one.
  EXPECT_THAT(run.output, HasSubstr("host ok, 1400 launches"));
  EXPECT_GT(run.profile["dropped"]["capture_skipped"], 0);
  EXPECT_EQ(event_named(run.profile, "graph_0")["reason"],
            "the program makes it anew again and again; 50 of 50 samples are missing");
}

TEST(TheProgram, IsUnharmedWhenTheDeviceIsReset) {
  const HostRun run = run_host("host_training", two_hundred_iterations({}, {"--reset-device"}));
  EXPECT_EQ(run.exit_status, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr(kOk));
}

TEST(AnInterleavedLaunch, DropsTheSample) {
  // Another thread launches on the same stream without a pause: it gets between many pairs, unless
  // the system has no core for it at the time.
  constexpr int wanted = INLINE_PROF_TEST_SANITIZED ? 5000 : 20000;
  std::size_t dropped = 0;
  for (int attempt = 0; attempt < 20 && dropped == 0; ++attempt) {
    const ProfiledRun run(
        "host_training",
        {.arguments = {"--iterations=" + std::to_string(wanted + 100), "--no-labels", "--hammer"},
         .environment = {"INLINE_PROF_REPEAT=" + std::to_string(wanted), "INLINE_PROF_OVERHEAD=0"},
         .files = {{"prof.events", "kernel_b\n"}}});
    dropped = run.profile["dropped"]["interleaved_launch"].get<std::size_t>();
    std::size_t samples = 0;
    for (const json& event : run.profile["events"])
      samples += event["measured_times_ms"].size();
    // The number of the other thread's launches in an iteration may be taken for phases, and
    // samples between two of them are taken again.
    EXPECT_NEAR(static_cast<double>(samples + dropped), wanted, 0.1 * wanted);
  }
  EXPECT_GT(dropped, 0U);
}

TEST(AFullRing, DropsAndCounts) {
  // The application is so fast that more iterations are in flight than there are pairs of events.
  const ProfiledRun run("host_training",
                        {.arguments = {"--iterations=3000", "--no-labels", "--repeats=0"},
                         .environment = {"SIMGPU_HOST_SPEED=0.0001", "INLINE_PROF_REPEAT=1000"}});
  EXPECT_GT(run.profile["dropped"]["ring_full"], 0);
}

TEST(AStuckGpu, DoesNotHoldTheProcessBack) {
  const ProfiledRun run("host_training",
                        {.arguments = {"--iterations=40", "--no-labels", "--stuck"},
                         .environment = {"INLINE_PROF_WARMUP=3"},
                         .seconds = 30});
  EXPECT_EQ(run.profile["complete"], false);
  EXPECT_GT(run.profile["dropped"]["not_ready_at_exit"], 0);
}

TEST(AMillionLabels, AreMoreThanAreKept) {
  // 8 iterations of so many; a sanitizer takes thirty times as long.
  const std::string labels = INLINE_PROF_TEST_SANITIZED ? "20000" : "200000";
  const ProfiledRun run(
      "host_training",
      {.arguments = {"--iterations=8", "--labels-of-one-use=" + labels},
       .environment = {"INLINE_PROF_WARMUP=3", "INLINE_PROF_REPEAT=1", "INLINE_PROF_OVERHEAD=0"},
       .seconds = 100});
  EXPECT_THAT(run.output, HasSubstr("host ok, 40 launches\n"));
  EXPECT_LT(lines_of(run.output).size(), 5U);  // not a line for each
  EXPECT_THAT(run.profile["not_seen"].dump(), HasSubstr("there was room for"));
}

// --- the output

TEST(AnUnwritableFolder, IsSaidAtOnceAndTrainingGoesOn) {
  const Workplace place;
  // Root may write anywhere but where a file is in the way.
  place.file("taken", "mine");
  const HostRun run =
      run_host(place, "host_training", two_hundred_iterations({"INLINE_PROF_DIR=taken/deeper"}));
  EXPECT_EQ(run.exit_status, 0);
  EXPECT_THAT(run.output, HasSubstr(kOff + "output: "));
  EXPECT_THAT(run.output, HasSubstr("taken/deeper: cannot be made: Not a directory"));
  EXPECT_THAT(run.output, EndsWith(kOk));
  EXPECT_THAT(place.names(), ElementsAre("taken"));
}

// --- programs that have nothing to do with CUDA

TEST(AProgramWithoutCuda, IsLeftAlone) {
  const Workplace place;
  const HostRun run = run_host(place, "host_without_cuda", {});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  EXPECT_EQ(run.output, "host ok, 1 thread\n");
  EXPECT_THAT(place.names(), ElementsAre());
}

TEST(AProgramWithoutCuda, MayBeAShellOrPython) {
  if (INLINE_PROF_TEST_SANITIZED) GTEST_SKIP() << "a sanitized library needs a sanitized program";
  const Workplace place;
  const HostRun shell = run_host(
      place, "/bin/bash", {.arguments = {"-c", "echo shell ok; (exit 3); echo $?; ls | wc -l"}});
  EXPECT_EQ(shell.output, "shell ok\n3\n0\n");
  const HostRun python =
      run_host(place, "/usr/bin/python3",
               {.arguments = {"-c",
                              "import ctypes, os, subprocess\n"
                              "print(ctypes.CDLL(None).getpid() == os.getpid())\n"
                              "print(subprocess.run(['/bin/echo', 'child ok'], check=True,"
                              " capture_output=True).stdout)\n"
                              "pid = os.fork()\n"
                              "if pid == 0: os._exit(5)\n"
                              "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"}});
  EXPECT_EQ(python.output, "True\nb'child ok\\n'\n5\n");
  EXPECT_THAT(place.names(), ElementsAre());
}

}  // namespace
}  // namespace inline_prof::test
