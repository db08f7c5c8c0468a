// Copies, fills and operations of streams on memory are events, counted and measured as launches
// are, and the program has what it has without us.
#include "run_host.hpp"

#include <cuda.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace inline_prof::test {
namespace {

using nlohmann::json;
using Texts = std::vector<std::string>;

constexpr int kSamples = 10;

Texts settings(Texts more = {}) {
  Texts all{"INLINE_PROF_WARMUP=4", "INLINE_PROF_REPEAT=" + std::to_string(kSamples),
            "INLINE_PROF_OVERHEAD=0"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

HostRun run(const Workplace& place, const std::string& mode, Texts more = {},
            bool with_library = true) {
  return run_host(place, "host_memory",
                  {.arguments = {mode},
                   .environment = settings(std::move(more)),
                   .with_library = with_library});
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
  for (const json& event : profile["events"])
    EXPECT_EQ(event["measured_times_ms"].size(), kSamples) << event["event_name"];
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
  const Workplace place;
  const HostRun found = run(place, "");
  EXPECT_EQ(found.exit_status, 0) << found.output;
  EXPECT_EQ(found.output, run(place, "", {}, false).output);
  const json profile = place.json();
  EXPECT_EQ(copies_in(profile), kStep);
  expect_all_measured(profile);
  // Kernels are counted as if nothing was copied: one in each of the four iterations.
  EXPECT_EQ(profile["overhead"]["launches_seen"], 4);
  EXPECT_EQ(profile["phases"][0]["kernel_launches"], 1);
}

TEST(Memory, EachCopyIsCountedOnce) {
  const Workplace place;
  EXPECT_EQ(run(place, "unmarked", {"SIMGPU_TIMELINE=timeline.txt"}).exit_status, 0);
  std::map<std::string, std::int64_t> done;
  std::istringstream lines(place.text("timeline.txt"));
  for (std::string line; std::getline(lines, line);)
    ++done[line.substr(0, line.find('\t'))];
  std::map<std::string, std::int64_t> counted;
  const json profile = place.json();
  for (const json& event : profile["events"]) {
    const std::string name = event["event_name"];
    const std::string kind = name == "memset" ? "fill" : name.substr(0, name.find('_'));
    counted[kind] += event["calls"].get<std::int64_t>();
  }
  EXPECT_EQ(counted["fill"], done["fill"]);
  constexpr std::int64_t second_copies_of_batches = CUDA_VERSION >= 13000 ? 400 : 0;
  EXPECT_EQ(counted["memcpy"] + second_copies_of_batches, done["copy"]);
}

TEST(Memory, CopiesOfOtherThreadsAreEventsToo) {
  const Workplace place;
  EXPECT_EQ(run(place, "threads").exit_status, 0);
  const json profile = place.json();
  Texts expected = kStep;
  expected.insert(expected.end(), 5, "memcpy_DtoH_pageable 600 device_to_host pageable");
  EXPECT_EQ(copies_in(profile), expected);
  expect_all_measured(profile);
}

TEST(Memory, NodesOfAGraphThatCopyAreTimedOneByOne) {
  const Workplace place;
  const HostRun found = run(place, "graph", {"INLINE_PROF_EXIT_WHEN_DONE=1"});
  EXPECT_EQ(found.exit_status, 0) << found.output;
  const json profile = place.json();
  EXPECT_EQ(copies_in(profile),
            (Texts{"memcpy_HtoD 1000 host_to_device pinned", "memcpy_DtoD 2000 device_to_device",
                   "memset 200 fill", "memcpy_DtoH_pageable 1 device_to_host pageable"}));
  expect_all_measured(profile);
  EXPECT_EQ(profile["phases"][0]["graph_kernels"], 1) << "copies are no kernels";
}

TEST(Memory, WhatIsCopiedInSomeIterationsOnlyIsNotWaitedFor) {
  const Workplace place;
  EXPECT_EQ(run(place, "logs").exit_status, 0);
  const json profile = place.json();
  EXPECT_EQ(copies_in(profile), kStep);
  expect_all_measured(profile);
}

TEST(Memory, InOneShotAllOfAnIterationIsMeasuredTogether) {
  const Workplace place;
  EXPECT_EQ(run(place, "", {"INLINE_PROF_MODE=one_shot"}).exit_status, 0);
  const json profile = place.json();
  EXPECT_EQ(copies_in(profile), kStep);
  for (const json& event : profile["events"]) {
    EXPECT_GT(event["iterations"].size(), 10U) << event["event_name"];
    EXPECT_EQ(event["iterations"], profile["events"][0]["iterations"]) << event["event_name"];
  }
}

// What the driver does not tell of an address is taken for the host's own.
TEST(Memory, WithoutPointerAttributesCopiesAreMeasuredAllTheSame) {
  const Workplace place;
  const HostRun found = run(place, "", {"SIMGPU_FAIL=cuPointerGetAttribute:999:count=1000000"});
  EXPECT_EQ(found.exit_status, 0) << found.output;
  expect_all_measured(place.json());
}

// Each wrapped call fails in turn, in an iteration that is counted and in one that is measured.
class ACopyThatFails : public testing::TestWithParam<const char*> {};

TEST_P(ACopyThatFails, IsTheApplicationsToHear) {
  for (const char* before : {"0", "1", "30", "230"}) {
    const Workplace place;
    const std::string rule = std::string("SIMGPU_FAIL=") + GetParam() + ":719:after=" + before;
    const HostRun alone = run(place, "", {rule}, false);
    const HostRun found = run(place, "", {rule, "INLINE_PROF_LOG=quiet"});
    EXPECT_EQ(found.exit_status, alone.exit_status) << rule << ": " << found.output;
    EXPECT_EQ(found.output, alone.output) << rule;
    EXPECT_EQ(alone.exit_status, 1) << "the rule must have hit the program's own call: " << rule;
  }
}

INSTANTIATE_TEST_SUITE_P(OfEachKind, ACopyThatFails,
                         testing::Values("cuMemcpyHtoDAsync", "cuMemcpyDtoDAsync", "cuMemcpyDtoH",
                                         "cuMemcpyAsync", "cuMemsetD8Async", "cuMemsetD32Async",
                                         "cuMemsetD2D16Async", "cuMemcpy2DAsync", "cuMemcpy3DAsync",
                                         "cuMemcpyPeerAsync", "cuStreamWriteValue32"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace inline_prof::test
