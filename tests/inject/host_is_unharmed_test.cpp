// Whatever goes wrong around the library, the application gets the answers it would have got
// without it. Faults are planted in the simulated driver and in the application's surroundings,
// never in our code.
#include "run_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <sys/mount.h>
#include <unistd.h>
#include <vector>

namespace inline_prof::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kOk = "host ok, 1000 launches\n";

HostRun train(const Workplace& place, const std::vector<std::string>& environment,
              std::vector<std::string> more = {}) {
  more.insert(more.begin(), "--iterations=200");
  return run_host(place, "host_training", {.arguments = more, .environment = environment});
}

TEST(TheHost, IsUnharmedWhenAllIsWell) {
  const Workplace place;
  const HostRun run = train(place, {});
  EXPECT_EQ(run.exit_status, 0);
  EXPECT_EQ(run.output, kOk);  // a healthy profiler says nothing
  EXPECT_EQ(place.json()["complete"], true);
}

TEST(TheHost, SeesItsOwnErrors) {
  const Workplace place;
  const HostRun run = train(place, {"SIMGPU_FAIL=cuLaunchKernel:701"}, {"--expect-launch-error"});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("host ok, 0 launches"));
}

TEST(TheHost, LaunchesExactlyAsOftenAsWithoutUs) {
  long counts[2] = {0, 0};
  for (const bool with_library : {false, true}) {
    const Workplace place;
    const HostRun run = run_host(place, "host_training",
                                 {.arguments = {"--iterations=200"},
                                  .environment = {"SIMGPU_TRUTH=truth.json"},
                                  .with_library = with_library});
    ASSERT_EQ(run.exit_status, 0) << run.output;
    const auto truth = place.json("truth.json");
    for (const auto& kernel : truth["kernels"]) {
      if (kernel["name"] != "inline_prof_empty_kernel") {
        counts[with_library ? 1 : 0] += kernel["count"].get<long>();
      }
    }
  }
  EXPECT_EQ(counts[0], 1000);
  EXPECT_EQ(counts[1], 1000);
}

// Proves that the hook ran at all: without it there would be nothing to complain about.
TEST(TheHost, IsUnharmedWhenEveryRecordFails) {
  const Workplace place;
  const HostRun run = train(place, {"SIMGPU_FAIL=cuEventRecord:719"});
  EXPECT_EQ(run.exit_status, 0);
  EXPECT_EQ(run.output,
            std::string("inline_prof: profiling is off: cuEventRecord: failed 16 times in a row "
                        "(CUresult 719)\n") +
                kOk);
}

TEST(TheHost, IsUnharmedWhenNoEventCanBeMade) {
  const Workplace place;
  const HostRun run = train(place, {"SIMGPU_FAIL=cuEventCreate:2"});
  EXPECT_EQ(run.exit_status, 0);
  EXPECT_EQ(run.output,
            std::string("inline_prof: profiling is off: cuEventCreate: no events can be "
                        "made in any context\n") +
                kOk);
}

TEST(OneFailedRecord, IsOneSampleLessAndCounted) {
  const Workplace place;
  // After the calibration's records, in the middle of the samples.
  const HostRun run = train(place, {"SIMGPU_FAIL=cuEventRecord:719:after=700:count=1"});
  EXPECT_EQ(run.exit_status, 0);
  EXPECT_EQ(run.output, std::string(kOk) +
                            "inline_prof: 149 of 150 samples were taken; the others, of 1 event: "
                            "1 lost to errors of the driver\n");
  const auto profile = place.json();
  EXPECT_EQ(profile["dropped"]["cuda_errors"], 1);
  EXPECT_EQ(profile["complete"], true);  // with a reason
}

std::string driver_without(const char* function) {
  return std::string("LD_LIBRARY_PATH=" INLINE_PROF_TEST_OLDER_DRIVERS "/") + function;
}

TEST(AnOlderDriver, MayLackWhatIsOptional) {
  for (const char* function :
       {"cuFuncGetName", "cuStreamWaitValue32_v2", "cuThreadExchangeStreamCaptureMode",
        "cuOccupancyMaxActiveBlocksPerMultiprocessor"}) {
    const Workplace place;
    const HostRun run = train(place, {driver_without(function)});
    EXPECT_EQ(run.exit_status, 0) << function << run.output;
    EXPECT_EQ(run.output, kOk) << function;
    EXPECT_EQ(place.json()["complete"], true) << function;
  }
}

std::vector<std::string> calibrated_states(const nlohmann::json& profile) {
  std::vector<std::string> states;
  for (const auto& calibration : profile["calibration"])
    states.push_back(calibration["state"]);
  return states;
}

TEST(AnOlderDriver, WithoutStreamWaitsIsNotCalibratedBusy) {
  const Workplace place;
  ASSERT_EQ(train(place, {driver_without("cuStreamWaitValue32_v2")}).exit_status, 0);
  const auto profile = place.json();
  EXPECT_THAT(calibrated_states(profile), ElementsAre("idle", "graph"));
  EXPECT_THAT(profile["warnings"].dump(),
              HasSubstr("no busy calibration: the driver has no stream memory operations"));
}

TEST(AnOlderDriver, WithoutWhatWeNeedIsLeftAlone) {
  const Workplace place;
  const HostRun run = train(place, {driver_without("cuEventQuery")});
  EXPECT_EQ(run.exit_status, 0);
  // One line and then silence, however long the program runs.
  EXPECT_EQ(run.output, std::string("inline_prof: profiling is off: driver: cuEventQuery is not in "
                                    "libcuda.so.1\n") +
                            kOk);
  EXPECT_THAT(place.files(), ElementsAre());
}

TEST(OneHardwareQueue, IsNeverHeldBack) {
  const Workplace place;
  ASSERT_EQ(train(place, {"CUDA_DEVICE_MAX_CONNECTIONS=1"}).exit_status, 0);
  const auto profile = place.json();
  EXPECT_THAT(calibrated_states(profile), ElementsAre("idle", "graph"));
  EXPECT_THAT(profile["warnings"].dump(), HasSubstr("CUDA_DEVICE_MAX_CONNECTIONS is 1"));
}

TEST(LaunchesThatWait, AreNeverHeldBack) {
  const Workplace place;
  const HostRun run = train(place, {"CUDA_LAUNCH_BLOCKING=1", "SIMGPU_HANG_LIMIT_S=5"});
  ASSERT_EQ(run.exit_status, 0) << run.output;
  const auto profile = place.json();
  EXPECT_THAT(calibrated_states(profile), ElementsAre("idle", "graph"));
  EXPECT_THAT(profile["warnings"].dump(), HasSubstr("CUDA_LAUNCH_BLOCKING is set"));
}

// A tool that looks at one kernel at a time says nothing in the environment.
TEST(LaunchesThatWait, EndTheHoldThatTheyWaitFor) {
  const Workplace place;
  const HostRun run = train(place, {"SIMGPU_LAUNCH_BLOCKING=1", "SIMGPU_HANG_LIMIT_S=5"});
  ASSERT_EQ(run.exit_status, 0) << run.output;
  const auto profile = place.json();
  EXPECT_THAT(calibrated_states(profile), ElementsAre("idle", "busy", "graph"));
  EXPECT_TRUE(profile["calibration"][1].contains("empty_pair_us"));
  EXPECT_FALSE(profile["calibration"][1].contains("empty_kernel_pair_us"));
  EXPECT_THAT(profile["warnings"].dump(), HasSubstr("launches wait until they have run"));
}

TEST(TheHost, IsUnharmedWhenItIsCapturing) {
  const Workplace place;
  const HostRun run = train(place, {}, {"--capture", "--no-labels"});
  // The application itself counts the nodes of its graph: an event of ours would be a third one.
  EXPECT_EQ(run.exit_status, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("host ok, 1400 launches"));
  const auto profile = place.json();
  EXPECT_GT(profile["dropped"]["capture_skipped"], 0);
  const auto graph =
      std::find_if(profile["events"].begin(), profile["events"].end(),
                   [](const auto& event) { return event["event_name"] == "graph_0"; });
  ASSERT_NE(graph, profile["events"].end());
  EXPECT_EQ((*graph)["reason"],
            "the program makes it anew again and again; 50 of 50 samples are missing");
}

TEST(TheHost, IsUnharmedWhenItForks) {
  const Workplace place;
  const HostRun run = train(place, {}, {"--fork"});
  EXPECT_EQ(run.exit_status, 0);
  EXPECT_EQ(run.output, kOk);
  // The child wrote nothing, the parent everything.
  EXPECT_THAT(place.files(), ElementsAre("prof.json"));
  EXPECT_EQ(place.json()["complete"], true);
}

TEST(TheHost, IsUnharmedWhenAStreamGoes) {
  const Workplace place;
  const HostRun run = train(place, {}, {"--destroy-stream"});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("host ok, 1000 launches"));
}

TEST(TheHost, IsUnharmedWhenTheDeviceIsReset) {
  const Workplace place;
  const HostRun run = train(place, {}, {"--reset-device"});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("host ok, 1000 launches"));
}

TEST(TheHost, IsUnharmedWhenManyThreadsLaunch) {
  const Workplace place;
  const HostRun run = run_host(place, "host_training",
                               {.arguments = {"--iterations=300", "--threads=4", "--streams=4"}});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  EXPECT_EQ(run.output, "host ok, 6000 launches\n");
}

TEST(ACallSite, IsSharedByThreadsThatNothingOrders) {
  const Workplace place;
  const HostRun run = run_host(place, "host_training", {.arguments = {"--share-a-site"}});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  EXPECT_EQ(run.output, "host ok, 1000 launches\n");
}

TEST(AnInterleavedLaunch, DropsTheSample) {
  // Another thread launches on the same stream without a pause: it gets between many pairs, unless
  // the system has no core for it at the time.
  std::size_t dropped = 0;
  for (int attempt = 0; attempt < 20 && dropped == 0; ++attempt) {
    const Workplace place;
    place.write("prof.events", "kernel_b\n");
    const HostRun run =
        run_host(place, "host_training",
                 {.arguments = {"--iterations=20100", "--no-labels", "--hammer"},
                  .environment = {"INLINE_PROF_REPEAT=20000", "INLINE_PROF_OVERHEAD=0"}});
    EXPECT_EQ(run.exit_status, 0) << run.output;
    const auto profile = place.json();
    dropped = profile["dropped"]["interleaved_launch"].get<std::size_t>();
    std::size_t samples = 0;
    for (const auto& event : profile["events"])
      samples += event["measured_times_ms"].size();
    // How often the other thread launches in an iteration may be taken for phases, and samples
    // between two of them are taken again.
    EXPECT_NEAR(static_cast<double>(samples + dropped), 20000, 2000);
  }
  EXPECT_GT(dropped, 0U);
}

TEST(AFullRing, DropsAndCounts) {
  const Workplace place;
  // The application is so fast that more iterations are in flight than there are pairs of events.
  const HostRun run =
      run_host(place, "host_training",
               {.arguments = {"--iterations=3000", "--no-labels", "--repeats=0"},
                .environment = {"SIMGPU_HOST_SPEED=0.0001", "INLINE_PROF_REPEAT=1000"}});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  EXPECT_GT(place.json()["dropped"]["ring_full"], 0);
}

TEST(AStuckGpu, DoesNotHoldTheProcessBack) {
  const Workplace place;
  const HostRun run = run_host(place, "host_training",
                               {.arguments = {"--iterations=40", "--no-labels", "--stuck"},
                                .environment = {"INLINE_PROF_WARMUP=3"},
                                .seconds = 30});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  const auto profile = place.json();
  EXPECT_EQ(profile["complete"], false);
  EXPECT_GT(profile["dropped"]["not_ready_at_exit"], 0);
}

TEST(AnAllocatorThatFails, EndsProfilingAndNotTheHost) {
  if (INLINE_PROF_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer has an allocator of its own";
  const Workplace place;
  const HostRun run =
      run_host(place, "host_fast_path",
               {.arguments = {"20", "fail"}, .environment = {"SIMGPU_LAUNCH=null"}});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("inline_prof: profiling is off: memory: there is none left\n"));
  EXPECT_THAT(run.output, HasSubstr("host ok"));
}

TEST(TheHost, MayLeaveInAnyWay) {
  for (const char* way : {"--exit-in-thread", "--abort"}) {
    const Workplace place;
    const HostRun run = train(place, {}, {way});
    EXPECT_EQ(run.exit_status, std::string(way) == "--abort" ? 128 + SIGABRT : 0) << way;
    EXPECT_THAT(run.output, HasSubstr(kOk)) << way;
  }
}

TEST(TheHost, MayLeaveAtOnce) {
  const Workplace place;
  const HostRun run = train(place, {}, {"--exit-at-once"});
  EXPECT_EQ(run.exit_status, 5);
  EXPECT_EQ(run.output, kOk);
}

TEST(TheHost, IsUnharmedWhenItStartsAProgram) {
  const Workplace place;
  const HostRun run = train(place, {}, {"--vfork"});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  EXPECT_EQ(run.output, kOk);
  EXPECT_THAT(place.files(), ElementsAre("prof.json"));
}

TEST(TheHost, IsUnharmedWhenALaunchingThreadIsCancelled) {
  const Workplace place;
  const HostRun run = train(place, {}, {"--cancel"});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  EXPECT_THAT(run.output, testing::EndsWith(kOk));
}

TEST(AMillionLabels, AreMoreThanAreKept) {
  const Workplace place;
  // 8 iterations of so many; a sanitizer takes thirty times as long.
  const std::string labels = INLINE_PROF_TEST_SANITIZED ? "20000" : "200000";
  const HostRun run = run_host(
      place, "host_training",
      {.arguments = {"--iterations=8", "--labels-of-one-use=" + labels},
       .environment = {"INLINE_PROF_WARMUP=3", "INLINE_PROF_REPEAT=1", "INLINE_PROF_OVERHEAD=0"},
       .seconds = 100});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("host ok, 40 launches\n"));
  // Not a line for each.
  EXPECT_LT(std::count(run.output.begin(), run.output.end(), '\n'), 5);
  EXPECT_THAT(place.json()["not_seen"].dump(), HasSubstr("there was room for"));
}

// --- the output

TEST(AnUnwritableFolder, IsSaidAtOnceAndTrainingGoesOn) {
  const Workplace place;
  // Root may write anywhere but where a file stands in the way.
  place.write("taken", "mine");
  const HostRun run = train(place, {"INLINE_PROF_DIR=taken/deeper"});
  EXPECT_EQ(run.exit_status, 0);
  EXPECT_THAT(run.output, HasSubstr("inline_prof: profiling is off: output: "));
  EXPECT_THAT(run.output, HasSubstr("taken/deeper: cannot be made: Not a directory"));
  EXPECT_THAT(run.output, testing::EndsWith(kOk));
  EXPECT_THAT(place.files(), ElementsAre("taken"));
}

TEST(AFullDisk, IsSaidAndNothingOlderIsLost) {
  if (geteuid() != 0) GTEST_SKIP() << "a small file system can only be made by root";
  const Workplace place;
  const std::filesystem::path disk = place.path() / "disk";
  std::filesystem::create_directory(disk);
  if (mount("none", disk.c_str(), "tmpfs", 0, "size=8k") != 0) {
    GTEST_SKIP() << "no small file system can be made here";
  }
  place.write("disk/prof.json", "mine");
  const HostRun run = train(place, {"INLINE_PROF_OUT=disk/prof.json"});
  const std::string kept = place.text("disk/prof.json");
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(disk)) {
    files.push_back(entry.path().filename().string());
  }
  umount(disk.c_str());
  EXPECT_EQ(run.exit_status, 0);
  EXPECT_THAT(run.output, HasSubstr("No space left on device; the program is not affected"));
  EXPECT_THAT(run.output, HasSubstr(kOk));
  EXPECT_EQ(kept, "mine");
  EXPECT_THAT(files, ElementsAre("prof.json"));
}

// --- programs that have nothing to do with CUDA

TEST(AProgramWithoutCuda, IsLeftAlone) {
  const Workplace place;
  const HostRun run = run_host(place, "host_without_cuda", {});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  EXPECT_EQ(run.output, "host ok, 1 thread\n");
  EXPECT_THAT(place.files(), ElementsAre());
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
  EXPECT_THAT(place.files(), ElementsAre());
}

}  // namespace
}  // namespace inline_prof::test
