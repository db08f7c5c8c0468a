// Collectives of the simulated NCCL: how long they last on each rank.
#include "run_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace simgpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

// Returns the number that a rank printed; -1 if it printed nothing.
double time_of_rank(const ProgramRun& run, int rank) {
  const std::string word = "rank " + std::to_string(rank) + ": ";
  for (const auto& line : run.lines()) {
    if (line.starts_with(word)) return std::stod(line.substr(word.size()));
  }
  return -1;
}

// 36 MB: 2 * (2 - 1) / 2 * 36e6 bytes at 360 GB/s are 100 us, and 14 us latency.
constexpr double kAllReduceUs = 114.0;

// The rank that comes 1002 us late does not wait; the other's kernel lasts as much longer, less
// what the two hosts' calls differ by.
void expect_that_rank_0_waits(const ProgramRun& run) {
  EXPECT_EQ(run.exit_status, 0) << run.output << run.errors;
  EXPECT_NEAR(time_of_rank(run, 1), kAllReduceUs, 0.001) << run.output << run.errors;
  EXPECT_NEAR(time_of_rank(run, 0), 1002 + kAllReduceUs, 30) << run.output << run.errors;
}

TEST(NcclRanks, AsThreadsWaitForTheLast) {
  const ProgramRun run = run_program({NCCL_PROGRAM, "threads"}, {"SIMGPU_DEVICES=2"});
  EXPECT_EQ(run.exit_status, 0) << run.output << run.errors;
  EXPECT_NEAR(time_of_rank(run, 1), kAllReduceUs, 0.001) << run.output << run.errors;
  // The threads take turns on their one host clock: the launch of what occupies rank 1 takes 2 us.
  EXPECT_NEAR(time_of_rank(run, 0), 2 + 1002 + kAllReduceUs, 0.001) << run.output << run.errors;
}

TEST(NcclRanks, AsProcessesWaitForTheLast) {
  expect_that_rank_0_waits(run_program({NCCL_PROGRAM, "processes"}));
}

TEST(NcclRanks, OfOneThreadMeetInAGroup) {
  expect_that_rank_0_waits(run_program({NCCL_PROGRAM, "one_thread"}, {"SIMGPU_DEVICES=2"}));
}

TEST(NcclRanks, ThatAreProcessesGetTheSameTimesInEveryRun) {
  const auto first = run_program({NCCL_PROGRAM, "processes"});
  const auto second = run_program({NCCL_PROGRAM, "processes"});
  EXPECT_EQ(time_of_rank(first, 0), time_of_rank(second, 0));
  EXPECT_EQ(time_of_rank(first, 1), time_of_rank(second, 1));
}

TEST(NcclRanks, WaitForTheirPartnerInSendAndReceive) {
  const ProgramRun run = run_program({NCCL_PROGRAM, "pairs"});
  // 18 MB each way at 320 GB/s, and 8 us.
  EXPECT_NEAR(time_of_rank(run, 1), 8 + 56.25, 0.001) << run.output << run.errors;
  EXPECT_NEAR(time_of_rank(run, 0), 1002 + 8 + 56.25, 30) << run.output << run.errors;
}

TEST(NcclRanks, AreSplitByColourInTheOrderOfTheirKeys) {
  const ProgramRun run = run_program({NCCL_PROGRAM, "split"});
  EXPECT_THAT(run.lines(), UnorderedElementsAre("rank 0: 0 of 1", "rank 0: 1 of 2",
                                                "rank 1: 0 of 1", "rank 1: 0 of 2"))
      << run.errors;
}

TEST(NcclRanks, WhoseNeighbourDiedGetAnError) {
  const ProgramRun run = run_program({NCCL_PROGRAM, "absent"}, {"SIMGPU_HANG_LIMIT_S=0.3"});
  EXPECT_THAT(run.lines(), ElementsAre("synchronise 702", "after the abort 0")) << run.errors;
  EXPECT_THAT(run.errors, HasSubstr("a rank that never came"));
}

TEST(NcclRanks, LeaveNoFilesBehind) {
  ASSERT_EQ(run_program({NCCL_PROGRAM, "processes"}).exit_status, 0);
  for (const char* folder : {"/dev/shm", "/tmp"}) {
    if (!std::filesystem::is_directory(folder)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string name = entry.path().filename();
      // Another test's communicator has a name for as long as its ranks are joining.
      if (!name.starts_with("simgpu-nccl-")) continue;
      const std::string process = name.substr(12, name.find('-', 12) - 12);
      EXPECT_TRUE(std::filesystem::exists("/proc/" + process)) << entry.path();
    }
  }
}

TEST(NcclKernels, AreNamedAndTimedAsTheirWork) {
  const ProgramRun run = run_with_truth({NCCL_PROGRAM, "one_thread"}, {"SIMGPU_DEVICES=2"});
  ASSERT_EQ(run.exit_status, 0);
  std::vector<int> devices;
  for (const auto& row : run.truth.at("kernels")) {
    if (row.at("name") == "busy") continue;
    EXPECT_EQ(row.at("mangled"),
              "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE");
    EXPECT_EQ(row.at("name"),
              "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
    EXPECT_NEAR(row.at("nominal_us").get<double>(), kAllReduceUs, 1e-9);
    devices.push_back(row.at("device").get<int>());
    // The wait is part of the kernel.
    const double us = row.at("durations_ns").at(0).get<double>() * 1e-3;
    EXPECT_NEAR(us, row.at("device") == 0 ? 1002 + kAllReduceUs : kAllReduceUs, 30);
  }
  EXPECT_THAT(devices, UnorderedElementsAre(0, 1));
}

TEST(NcclCalls, CheckTheirArguments) {
  EXPECT_THAT(run_program({NCCL_PROGRAM, "arguments"}, {"SIMGPU_DEVICES=2"}).lines(),
              ElementsAre("version of the header", "rank 1 of 2 on device 1",
                          "no communicator: invalid argument", "type: invalid argument",
                          "reduction: invalid argument", "root: invalid argument",
                          "buffer: invalid argument", "nothing to do: no error",
                          "group end: invalid usage", "destroyed reduction: invalid argument"));
}

TEST(NcclCalls, FailWhenAskedTo) {
  const ProgramRun run = run_program({NCCL_PROGRAM, "one_thread"},
                                     {"SIMGPU_DEVICES=2", "SIMGPU_FAIL=ncclGroupEnd:3:after=0"});
  EXPECT_THAT(run.output, HasSubstr("ncclGroupEnd(): 3")) << run.errors;
}

TEST(NcclGraphs, MeetTheOtherRanksInEachLaunch) {
  expect_that_rank_0_waits(run_program({NCCL_PROGRAM, "captured"}));
}

TEST(NcclGraphs, KeepTheirCommunicator) {
  const ProgramRun run =
      run_program({NCCL_PROGRAM, "persistent"}, {"SIMGPU_DEVICES=2", "SIMGPU_HANG_LIMIT_S=0.2"});
  EXPECT_THAT(run.lines(), ElementsAre("with a clone: internal error", "without: no error"));
  EXPECT_THAT(run.errors, HasSubstr("the vendor's library would hang"));
}

}  // namespace
}  // namespace simgpu
