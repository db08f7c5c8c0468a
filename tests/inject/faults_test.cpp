// Everything that the library calls fails in turn: each call of the driver with each code that it
// may plausibly return, each system call, each allocation.  The program's result stays the same.
// The functions come from the lists by which the library looks them up; system calls and
// allocations are counted in a run of their own.  So new ones are tested, too.
#include "run_host.hpp"
#include "sys/cuda_api.hpp"
#include "testing.hpp"

#include <cerrno>
#include <sys/syscall.h>

namespace inline_prof::test {
namespace {

// --- calls of the driver

// CUDA_ERROR_...: INVALID_VALUE, OUT_OF_MEMORY, NOT_INITIALIZED, DEINITIALIZED, NO_DEVICE,
// INVALID_DEVICE, INVALID_CONTEXT, INVALID_HANDLE, NOT_READY, ILLEGAL_ADDRESS, LAUNCH_FAILED,
// NOT_SUPPORTED, STREAM_CAPTURE_UNSUPPORTED, CONTEXT_IS_DESTROYED, UNKNOWN.
// Under a sanitizer a run takes a second, and the library does the same after most of them.
const std::vector<int> kCodes =
    INLINE_PROF_TEST_SANITIZED
        ? std::vector{1, 2, 600, 700, 999}
        : std::vector{1, 2, 3, 4, 100, 101, 201, 400, 600, 700, 719, 801, 900, 709, 999};
// Graphs are replayed a hundred times before anything is known of them.
const std::vector<int> kCodesWithGraphs = {2, 700, 801};

struct Fault {
  std::string function;
  bool has_graphs = false;
};

// cuCtxPopCurrent_v2 is cuCtxPopCurrent in a rule of the simulated driver.
std::string base_name(const std::string& symbol) {
  const auto end = symbol.rfind("_v");
  return end == std::string::npos ? symbol : symbol.substr(0, end);
}

std::vector<Fault> all_faults() {
  std::vector<Fault> faults;
#define INLINE_PROF_ADD(function, symbol) faults.push_back({base_name(symbol), false});
  INLINE_PROF_REQUIRED_FUNCTIONS(INLINE_PROF_ADD)
  INLINE_PROF_OPTIONAL_FUNCTIONS(INLINE_PROF_ADD)
#undef INLINE_PROF_ADD
  faults.push_back({"cuEventElapsedTime", false});
#define INLINE_PROF_ADD(member, symbol, ...) faults.push_back({base_name(#symbol), true});
  INLINE_PROF_GRAPH_FUNCTIONS(INLINE_PROF_ADD)
#undef INLINE_PROF_ADD
  return faults;
}

class ADriverCallThatFails : public TestWithParam<Fault> {
 protected:
  static HostRun run(const std::string& rule, bool with_library) {
    const bool has_graphs = GetParam().has_graphs;
    return run_host(has_graphs ? "host_graphs" : "host_training",
                    {.arguments = {has_graphs ? "chain" : "--iterations=40"},
                     .environment = {rule, "INLINE_PROF_WARMUP=3", "INLINE_PROF_REPEAT=5"},
                     .with_library = with_library});
  }
};

TEST_P(ADriverCallThatFails, DoesNotReachTheApplication) {
  const bool has_graphs = GetParam().has_graphs;
  const std::string rule = "SIMGPU_FAIL=" + GetParam().function + ":";
  // If the application makes the call as well, only the first one fails, which is the library's:
  // contexts are calibrated when they are made.
  std::string count = ":count=1000000";
  if (run(rule + "2" + count, false).exit_status != 0) {
    if (has_graphs) GTEST_SKIP() << "the program's own call comes first";
    count = ":count=1";
  }
  const HostRun alone = run("INLINE_PROF_LOG=warning", false);
  for (const int code : has_graphs ? kCodesWithGraphs : kCodes) {
    std::string each = rule;
    each.append(std::to_string(code)).append(count);
    const HostRun found = run(each, true);
    EXPECT_EQ(found.exit_status, 0) << each << ": " << found.output;
    EXPECT_EQ(without_our_lines(found.output), alone.output) << each;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ADriverCallThatFails, ValuesIn(all_faults()), [](const auto& row) {
  return row.param.function + (row.param.has_graphs ? "WithGraphs" : "");
});

// --- system calls and allocations

constexpr long kAllocations = -1;
constexpr const char* kTool =
    "LD_PRELOAD=" INLINE_PROF_TEST_PRELOAD ":" INLINE_PROF_TEST_FAULT_TOOL;

struct Program {
  const char* name;
  const char* host;
  Texts arguments;
};

// Short programs that together reach most of the library.
const std::vector<Program> kPrograms = {
    {"training", "host_training", {"--iterations=12"}},
    {"graphs", "host_training", {"--iterations=12", "--capture", "--threads=2", "--streams=2"}},
    {"without_iterations", "host_training", {"--iterations=60", "--no-boundaries"}},
    {"told_to_end", "host_ways", {"ends", "SIGTERM"}},
};

class AFault : public TestWithParam<Program> {
 protected:
  void SetUp() override {
    if (INLINE_PROF_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer makes calls and allocates itself";
    alone_ = run({}, false);
    if (run({"FAULT_LIST=list"}).exit_status == 77) GTEST_SKIP() << "no filter for system calls";
    const std::string counts = place_.content("list");
    for (std::size_t at = 0; at + sizeof(long) <= counts.size(); at += sizeof(long)) {
      long count = 0;
      std::memcpy(&count, counts.data() + at, sizeof count);
      const bool is_last = at + 2 * sizeof(long) > counts.size();
      if (count > 0) calls_[is_last ? kAllocations : static_cast<long>(at / sizeof(long))] = count;
    }
  }

  [[nodiscard]] HostRun run(const Texts& faults, bool with_library = true) const {
    HostOptions options{
        .arguments = GetParam().arguments,
        .environment = {"INLINE_PROF_DIR=out", "INLINE_PROF_OVERHEAD=16"},
        .files = {{"schedule.json", R"({"warmup": 3, "repeat": 1, "patterns": [{"match": "*"}]})"}},
        .with_library = with_library,
        .seconds = 30};
    if (with_library) options.environment.emplace_back(kTool);
    options.environment = joined(options.environment, faults);
    return run_host(place_, GetParam().host, options);
  }

  void expect_unharmed(const std::string& fault,
                       const std::string& setting = "INLINE_PROF_LOG=warning") const {
    const HostRun found = run({fault, setting});
    EXPECT_EQ(found.exit_status, alone_.exit_status) << fault << ": " << found.output;
    EXPECT_EQ(without_our_lines(found.output), alone_.output) << fault << ": " << found.output;
  }

  Workplace place_;
  HostRun alone_;
  std::map<long, long> calls_;  // how often each number was called; kAllocations: allocations
};

// All of them on request; else the first and the last ones, and some between.
std::vector<long> chosen(long count, long most) {
  if (std::getenv("INLINE_PROF_TEST_EVERYTHING") != nullptr) most = count;
  std::vector<long> numbers;
  for (long i = 0; i < std::min(count, most); ++i)
    numbers.push_back(1 + i * (count - 1) / std::max(std::min(count, most) - 1, 1L));
  return numbers;
}

TEST_P(AFault, OfASystemCallDoesNotReachTheApplication) {
  ASSERT_GE(calls_.size(), 10U);
  for (const auto& [number, count] : calls_) {
    // With a valid mask it cannot fail (sigprocmask(2)), and what it has changed must be undone.
    // Nor can getpid(2) and gettid(2).
    if (number == kAllocations || number == SYS_rt_sigprocmask || number == SYS_getpid ||
        number == SYS_gettid)
      continue;
    const std::string fault = "FAULT_CALL=" + std::to_string(number) + ":";
    for (const long nth : chosen(count, 3))
      expect_unharmed(fault + std::to_string(nth) + ":" + std::to_string(EIO));
    // Not for ever: a thread that cannot sleep would spin.
    expect_unharmed(fault + "0:" + std::to_string(ENOSYS));
  }
}

TEST_P(AFault, OfAnAllocationDoesNotReachTheApplication) {
  ASSERT_GE(calls_.at(kAllocations), 100);
  for (const long nth : chosen(calls_.at(kAllocations), 40)) {
    expect_unharmed("FAULT_MEMORY=" + std::to_string(nth));
    expect_unharmed("FAULT_MEMORY=" + std::to_string(nth) + ":on");
  }
}

// A disk that hangs for longer than the test waits.
TEST_P(AFault, OfASlowDiskDelaysNoEnd) {
  for (const long number :
       {SYS_write, SYS_linkat, SYS_renameat, SYS_unlinkat, SYS_flock, SYS_close}) {
    const auto found = calls_.find(number);
    if (found == calls_.end()) continue;
    // Quiet: a line on stderr is a write as well, and stderr is not on that disk.
    expect_unharmed(
        "FAULT_SLOW=" + std::to_string(number) + ":" + std::to_string(found->second) + ":120000",
        "INLINE_PROF_LOG=quiet");
  }
}

INSTANTIATE_TEST_SUITE_P(All, AFault, ValuesIn(kPrograms),
                         [](const auto& row) { return std::string(row.param.name); });

// The device does nothing, and a thread that yields the processor waits long for it.  Calibration,
// which yields some thousand times there, gives up.
TEST(ABusyMachine, DoesNotDelayCalibrationForLong) {
  if (INLINE_PROF_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer makes the calls itself";
  const Workplace place;
  HostOptions options{.arguments = {"--iterations=12"},
                      .environment = {"SIMGPU_HOST_SPEED=0", "FAULT_LIST=list", kTool}};
  if (run_host(place, "host_training", options).exit_status == 77)
    GTEST_SKIP() << "no filter for system calls";
  options.environment.push_back("FAULT_SLOW=" + std::to_string(SYS_sched_yield) + ":0:60");
  const ProfiledRun run("host_training", options);
  EXPECT_EQ(run.profile["calibration"].size(), 0U);
}

}  // namespace
}  // namespace inline_prof::test
