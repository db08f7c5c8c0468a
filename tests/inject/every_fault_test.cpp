// Each call that we make of the driver fails in turn, with each code that it may plausibly give.
#include "run_host.hpp"
#include "sys/cuda_api.hpp"
#include "sys/graph_api.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace inline_prof::test {
namespace {

// CUDA_ERROR_...: INVALID_VALUE, OUT_OF_MEMORY, NOT_INITIALIZED, DEINITIALIZED, NO_DEVICE,
// INVALID_DEVICE, INVALID_CONTEXT, INVALID_HANDLE, NOT_READY, ILLEGAL_ADDRESS, LAUNCH_FAILED,
// NOT_SUPPORTED, STREAM_CAPTURE_UNSUPPORTED, CONTEXT_IS_DESTROYED, UNKNOWN.
// A run takes a second under a sanitizer, which sees our code do the same after most of them.
const std::vector<int> kCodes =
    INLINE_PROF_TEST_SANITIZED
        ? std::vector{1, 2, 600, 700, 999}
        : std::vector{1, 2, 3, 4, 100, 101, 201, 400, 600, 700, 719, 801, 900, 709, 999};
// Graphs are replayed a hundred times before anything is known of them.
const std::vector<int> kCodesWithGraphs = {2, 700, 801};

struct Fault {
  std::string function;
  const char* host;
  std::vector<std::string> arguments;
};

// cuCtxPopCurrent_v2 is cuCtxPopCurrent in a rule of the simulated driver.
std::string base_name(const std::string& symbol) {
  const auto end = symbol.rfind("_v");
  return end == std::string::npos ? symbol : symbol.substr(0, end);
}

// Every function that we look up for ourselves, from the lists by which we do.
std::vector<Fault> all_faults() {
  std::vector<Fault> faults;
  const auto add = [&](const char* symbol) {
    faults.push_back({base_name(symbol), "host_training", {"--iterations=40"}});
  };
  const auto add_of_graphs = [&](const char* symbol) {
    faults.push_back({base_name(symbol), "host_graphs", {"chain"}});
  };
#define INLINE_PROF_ADD(function, symbol) add(symbol);
  INLINE_PROF_REQUIRED_FUNCTIONS(INLINE_PROF_ADD)
  INLINE_PROF_OPTIONAL_FUNCTIONS(INLINE_PROF_ADD)
#undef INLINE_PROF_ADD
  add("cuEventElapsedTime");
#define INLINE_PROF_ADD(member, symbol, ...) add_of_graphs(#symbol);
  INLINE_PROF_GRAPH_FUNCTIONS(INLINE_PROF_ADD)
#undef INLINE_PROF_ADD
  return faults;
}

class ADriverCallThatFails : public testing::TestWithParam<Fault> {
 protected:
  static HostRun run(const std::string& rule, bool with_library) {
    const Workplace place;
    return run_host(place, GetParam().host,
                    {.arguments = GetParam().arguments,
                     .environment = {rule, "INLINE_PROF_WARMUP=3", "INLINE_PROF_REPEAT=5"},
                     .with_library = with_library});
  }
};

TEST_P(ADriverCallThatFails, IsNotTheApplicationsAffair) {
  const bool has_graphs = std::string(GetParam().host) == "host_graphs";
  const std::string rule = "SIMGPU_FAIL=" + GetParam().function + ":";
  // Where the application makes the call as well, only the first one fails, which is ours:
  // contexts are calibrated when they are made.
  std::string count = ":count=1000000";
  if (run(rule + "2" + count, false).exit_status != 0) {
    if (has_graphs) GTEST_SKIP() << "the program's own call comes first";
    count = ":count=1";
  }
  const HostRun alone = run("INLINE_PROF_LOG=warning", false);
  for (const int code : has_graphs ? kCodesWithGraphs : kCodes) {
    const std::string each = rule + std::to_string(code) + count;
    const HostRun found = run(each, true);
    EXPECT_EQ(found.exit_status, 0) << each << ": " << found.output;
    std::string rest;
    std::istringstream lines(found.output);
    for (std::string line; std::getline(lines, line);) {
      // What is said beside is ours, and says so.
      if (line.rfind("inline_prof: ", 0) != 0) rest += line + "\n";
    }
    EXPECT_EQ(rest, alone.output) << each;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ADriverCallThatFails, testing::ValuesIn(all_faults()),
                         [](const auto& row) {
                           return row.param.function + (std::string(row.param.host) == "host_graphs"
                                                            ? "WithGraphs"
                                                            : "");
                         });

}  // namespace
}  // namespace inline_prof::test
