// Copies, fills and stream operations on memory are events, counted and measured as launches are,
// and the program gets the same data as without the library.
#include "run_host.hpp"
#include "testing.hpp"

#include <cuda.h>

namespace inline_prof::test {
namespace {

constexpr int kSamples = 10;

HostOptions copying(const char* mode, const Texts& more = {}) {
  return {.arguments = {mode},
          .environment = joined(
              {"INLINE_PROF_WARMUP=4", "INLINE_PROF_REPEAT=10", "INLINE_PROF_OVERHEAD=0"}, more)};
}

HostRun without_library(HostOptions options) {
  options.with_library = false;
  return run_host("host_memory", options);
}

// "memcpy_HtoD 1000 host_to_device pinned", in the order of the launches.
Texts copies_in(const json& profile) {
  Texts found;
  for (const json& event : profile["events"]) {
    if (!event.contains("op")) continue;
    const json& op = event["op"];
    EXPECT_EQ(op["kind"], "copy");
    std::string text = event["event_name"];
    if (op.contains("bytes")) text += ' ' + std::to_string(op["bytes"].get<std::int64_t>());
    text += ' ' + op["direction"].get<std::string>();
    if (op.contains("host_memory")) text += ' ' + op["host_memory"].get<std::string>();
    found.push_back(text);
  }
  return found;
}

void expect_all_measured(const json& profile) {
  EXPECT_EQ(profile["complete"], true) << profile["warnings"];
  expect_samples_of_each(profile, kSamples);
}

const Texts kStep{"memcpy_HtoD 1000 host_to_device pinned",
                  "memcpy_DtoD 1000 device_to_device",
                  "memcpy_DtoH_pageable 1 device_to_host pageable",
                  "memcpy_HtoD_pageable 2000 host_to_device pageable",
                  "memcpy_DtoH_pageable 1 device_to_host pageable",
                  "memcpy_DtoD 3000 device_to_device",
                  "memcpy_DtoH 500 device_to_host pinned",
                  "memset 100 fill",
                  "memset 400 fill",
                  "memset 60 fill",
                  "memcpy_DtoH_pageable 1 device_to_host pageable",
                  "memcpy_DtoH_pageable 1 device_to_host pageable",
                  "memcpy_HtoD 256 host_to_device pinned",
                  "memcpy_DtoD 512 device_to_device",
                  "memcpy_DtoH_pageable 1 device_to_host pageable",
                  "memcpy_DtoD 700 device_to_device",
                  "memcpy_DtoD 700 device_to_device",
                  "memcpy_DtoD 120 device_to_device",
                  "stream_write_value 4 write_value",
                  "stream_wait_value 4 wait_value"};

TEST(Memory, EachWayToMoveItIsAnEventWithItsBytes) {
  const ProfiledRun run("host_memory", copying(""));
  EXPECT_EQ(run.output, without_library(copying("")).output);
  EXPECT_EQ(copies_in(run.profile), kStep);
  expect_all_measured(run.profile);
  // Kernels are counted as if nothing was copied: one in each of the four iterations.
  EXPECT_EQ(run.profile["overhead"]["launches_seen"], 4);
  EXPECT_EQ(run.profile["phases"][0]["kernel_launches"], 1);
}

TEST(Memory, EachCopyIsCountedOnce) {
  const ProfiledRun run("host_memory", copying("unmarked", {"SIMGPU_TIMELINE=timeline.txt"}));
  std::map<std::string, std::int64_t> done;
  for (const std::string& line : lines_of(run.place.content("timeline.txt")))
    ++done[line.substr(0, line.find('\t'))];
  std::map<std::string, std::int64_t> counted;
  for (const json& event : run.profile["events"]) {
    const std::string name = event["event_name"];
    const std::string kind = name == "memset" ? "fill" : name.substr(0, name.find('_'));
    counted[kind] += event["calls"].get<std::int64_t>();
  }
  EXPECT_EQ(counted["fill"], done["fill"]);
  constexpr std::int64_t second_copies_of_batches = CUDA_VERSION >= 13000 ? 400 : 0;
  EXPECT_EQ(counted["memcpy"] + second_copies_of_batches, done["copy"]);
}

TEST(Memory, CopiesOfOtherThreadsAreEventsToo) {
  const ProfiledRun run("host_memory", copying("threads"));
  const Texts of_others(5, "memcpy_DtoH_pageable 600 device_to_host pageable");
  EXPECT_EQ(copies_in(run.profile), joined(kStep, of_others));
  expect_all_measured(run.profile);
}

TEST(Memory, NodesOfAGraphThatCopyAreTimedOneByOne) {
  const ProfiledRun run("host_memory", copying("graph", {"INLINE_PROF_EXIT_WHEN_DONE=1"}));
  EXPECT_EQ(copies_in(run.profile),
            (Texts{"memcpy_HtoD 1000 host_to_device pinned", "memcpy_DtoD 2000 device_to_device",
                   "memset 200 fill", "memcpy_DtoH_pageable 1 device_to_host pageable"}));
  expect_all_measured(run.profile);
  EXPECT_EQ(run.profile["phases"][0]["graph_kernels"], 1) << "copies are no kernels";
}

TEST(Memory, CopiesOfSomeIterationsOnlyAreNotWaitedFor) {
  const ProfiledRun run("host_memory", copying("logs"));
  EXPECT_EQ(copies_in(run.profile), kStep);
  expect_all_measured(run.profile);
}

TEST(Memory, InOneShotAllOfAnIterationIsMeasuredTogether) {
  const ProfiledRun run("host_memory", copying("", {"INLINE_PROF_MODE=one_shot"}));
  EXPECT_EQ(copies_in(run.profile), kStep);
  for (const json& event : run.profile["events"]) {
    EXPECT_GT(event["iterations"].size(), 10U) << event["event_name"];
    EXPECT_EQ(event["iterations"], run.profile["events"][0]["iterations"]) << event["event_name"];
  }
}

// An address of which the driver says nothing is taken for the host's own.
TEST(Memory, WithoutPointerAttributesCopiesAreMeasuredAllTheSame) {
  const ProfiledRun run("host_memory",
                        copying("", {"SIMGPU_FAIL=cuPointerGetAttribute:999:count=1000000"}));
  expect_all_measured(run.profile);
}

// Each wrapped call fails in turn, in an iteration that is counted and in one that is measured.
class ACopyThatFails : public TestWithParam<const char*> {};

TEST_P(ACopyThatFails, IsTheApplicationsToHear) {
  for (const char* before : {"0", "1", "30", "230"}) {
    const std::string rule = std::string("SIMGPU_FAIL=") + GetParam() + ":719:after=" + before;
    const HostRun alone = without_library(copying("", {rule}));
    const HostRun found = run_host("host_memory", copying("", {rule, "INLINE_PROF_LOG=quiet"}));
    EXPECT_EQ(found.exit_status, alone.exit_status) << rule << ": " << found.output;
    EXPECT_EQ(found.output, alone.output) << rule;
    EXPECT_EQ(alone.exit_status, 1) << "the rule must have hit the program's own call: " << rule;
  }
}

INSTANTIATE_TEST_SUITE_P(OfEachKind, ACopyThatFails,
                         Values("cuMemcpyHtoDAsync", "cuMemcpyDtoDAsync", "cuMemcpyDtoH",
                                "cuMemcpyAsync", "cuMemsetD8Async", "cuMemsetD32Async",
                                "cuMemsetD2D16Async", "cuMemcpy2DAsync", "cuMemcpy3DAsync",
                                "cuMemcpyPeerAsync", "cuStreamWriteValue32"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace inline_prof::test
