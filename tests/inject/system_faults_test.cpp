// Each system call and each allocation of ours fails in turn, or takes long: the application's
// result is the same.  Which there are is counted in a run of its own, so that a new one is met.
#include "run_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <sys/syscall.h>
#include <vector>

namespace inline_prof::test {
namespace {

struct Work {
  const char* name;
  const char* host;
  std::vector<std::string> arguments;
};

// Short programs that between them do most of what we have an answer for.
const std::vector<Work> kWorks = {
    {"training", "host_training", {"--iterations=12"}},
    {"graphs", "host_training", {"--iterations=12", "--capture", "--threads=2", "--streams=2"}},
    {"without_iterations", "host_training", {"--iterations=60", "--no-boundaries"}},
    {"told_to_end", "host_ends", {"SIGTERM"}},
};

class AFault : public testing::TestWithParam<Work> {
 protected:
  AFault() {
    place_.write("schedule.json", R"({"warmup": 3, "repeat": 1, "patterns": [{"match": "*"}]})");
  }

  [[nodiscard]] HostRun run(const std::vector<std::string>& faults,
                            bool with_library = true) const {
    HostOptions options{
        .arguments = GetParam().arguments, .with_library = with_library, .seconds = 30};
    options.environment = {"INLINE_PROF_DIR=out", "INLINE_PROF_OVERHEAD=16"};
    if (with_library) {
      options.environment.emplace_back("LD_PRELOAD=" INLINE_PROF_TEST_PRELOAD
                                       ":" INLINE_PROF_TEST_FAULT_TOOL);
    }
    options.environment.insert(options.environment.end(), faults.begin(), faults.end());
    return run_host(place_, GetParam().host, options);
  }

  // The numbers of the kernel's calls, and how often each was made; -1: allocations.
  [[nodiscard]] std::map<long, long> calls() const {
    static_cast<void>(run({"FAULT_LIST=list"}));
    std::map<long, long> found;
    const std::string counts = place_.text("list");
    for (std::size_t at = 0; at + sizeof(long) <= counts.size(); at += sizeof(long)) {
      long count = 0;
      std::memcpy(&count, counts.data() + at, sizeof count);
      const bool is_last = at + 2 * sizeof(long) > counts.size();
      if (count > 0) found[is_last ? -1 : static_cast<long>(at / sizeof(long))] = count;
    }
    return found;
  }

  void expect_unharmed(const std::string& fault,
                       const std::string& setting = "INLINE_PROF_LOG=warning") const {
    const HostRun found = run({fault, setting});
    EXPECT_EQ(found.exit_status, alone_.exit_status) << fault << ": " << found.output;
    std::string rest;
    std::istringstream lines(found.output);
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind("inline_prof: ", 0) != 0) rest += line + "\n";
    }
    EXPECT_EQ(rest, alone_.output) << fault << ": " << found.output;
  }

  Workplace place_;
  HostRun alone_ = run({}, false);
};

// All of them where there is time; else the first and the last ones, and some between.
std::vector<long> chosen(long count, long most) {
  if (std::getenv("INLINE_PROF_TEST_EVERYTHING") != nullptr) most = count;
  std::vector<long> numbers;
  for (long i = 0; i < std::min(count, most); ++i)
    numbers.push_back(1 + i * (count - 1) / std::max(std::min(count, most) - 1, 1L));
  return numbers;
}

TEST_P(AFault, OfASystemCallIsNotTheApplicationsAffair) {
  if (INLINE_PROF_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer makes the calls itself";
  if (run({"FAULT_LIST=list"}).exit_status == 77) GTEST_SKIP() << "no filter for system calls";
  const auto all = calls();
  ASSERT_GE(all.size(), 10U);
  for (const auto& [number, count] : all) {
    // With a valid mask it cannot fail (sigprocmask(2)), and what it has changed must be undone.
    // Nor can those that say who we are (getpid(2), gettid(2)).
    if (number < 0 || number == SYS_rt_sigprocmask || number == SYS_getpid || number == SYS_gettid)
      continue;
    for (const long nth : chosen(count, 3))
      expect_unharmed("FAULT_CALL=" + std::to_string(number) + ":" + std::to_string(nth) + ":" +
                      std::to_string(EIO));
    // How a thread sleeps must not fail for ever: it would spin.
    expect_unharmed("FAULT_CALL=" + std::to_string(number) + ":0:" + std::to_string(ENOSYS));
  }
}

TEST_P(AFault, OfAnAllocationIsNotTheApplicationsAffair) {
  if (INLINE_PROF_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer has an allocator of its own";
  const auto all = calls();
  ASSERT_GE(all.at(-1), 100);
  for (const long nth : chosen(all.at(-1), 40)) {
    expect_unharmed("FAULT_MEMORY=" + std::to_string(nth));
    expect_unharmed("FAULT_MEMORY=" + std::to_string(nth) + ":on");
  }
}

// A disk that hangs for longer than the test waits.
TEST_P(AFault, OfASlowDiskHoldsNoEndUp) {
  if (INLINE_PROF_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer makes the calls itself";
  const auto all = calls();
  for (const long number :
       {SYS_write, SYS_linkat, SYS_renameat, SYS_unlinkat, SYS_flock, SYS_close}) {
    const auto found = all.find(number);
    if (found == all.end()) continue;
    // Quiet: a line on stderr is a write as well, and stderr is not on that disk.
    expect_unharmed(
        "FAULT_SLOW=" + std::to_string(number) + ":" + std::to_string(found->second) + ":120000",
        "INLINE_PROF_LOG=quiet");
  }
}

// A device that does nothing, on a machine where whoever yields the processor waits long for it:
// calibration, which yields some thousand times there, gives up.
TEST(ABusyMachine, HoldsNoCalibrationUp) {
  if (INLINE_PROF_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer makes the calls itself";
  const Workplace place;
  HostOptions options{
      .arguments = {"--iterations=12"},
      .environment = {"SIMGPU_HOST_SPEED=0", "FAULT_LIST=list",
                      "LD_PRELOAD=" INLINE_PROF_TEST_PRELOAD ":" INLINE_PROF_TEST_FAULT_TOOL},
      .seconds = 60};
  if (run_host(place, "host_training", options).exit_status == 77)
    GTEST_SKIP() << "no filter for system calls";
  options.environment.push_back("FAULT_SLOW=" + std::to_string(SYS_sched_yield) + ":0:60");
  const HostRun run = run_host(place, "host_training", options);
  EXPECT_EQ(run.exit_status, 0) << run.output;
  EXPECT_EQ(place.json()["calibration"].size(), 0U);
}

INSTANTIATE_TEST_SUITE_P(All, AFault, testing::ValuesIn(kWorks),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace inline_prof::test
