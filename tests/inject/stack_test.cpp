// Code of ours on the application's threads takes 4 KiB of stack at most.
#include "run_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>

namespace inline_prof::test {
namespace {

constexpr std::size_t kMostBytes = 4096;

std::map<std::string, std::size_t> bytes_by_call(const std::string& output) {
  std::map<std::string, std::size_t> bytes;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.rfind(": ");
    if (colon != std::string::npos && line.rfind("inline_prof: ", 0) != 0)
      bytes[line.substr(0, colon)] = std::stoul(line.substr(colon + 2));
  }
  return bytes;
}

// Each kind of call, at its deepest: also the one in which the run begins, a schedule is read, a
// name of 900 letters is met, the plan is made, and the run ends.
TEST(TheStack, OfTheApplicationsThreadsIsHardlyUsed) {
  if (INLINE_PROF_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer has frames of its own";
  for (const char* mode : {"fine_grained", "one_shot"}) {
    const Workplace place;
    place.write("schedule.json", R"({"warmup": 5, "repeat": 5, "patterns": [{"match": "*"}]})");
    const HostRun alone = run_host(place, "host_stack", {.with_library = false});
    const HostRun run =
        run_host(place, "host_stack", {.environment = {std::string("INLINE_PROF_MODE=") + mode}});
    ASSERT_EQ(alone.exit_status, 0) << alone.output;
    ASSERT_EQ(run.exit_status, 0) << run.output;
    const auto bare = bytes_by_call(alone.output);
    ASSERT_GE(bare.size(), 10U);
    for (const auto& [call, bytes] : bytes_by_call(run.output)) {
      ASSERT_TRUE(bare.contains(call)) << call;
      EXPECT_LE(bytes, bare.at(call) + kMostBytes) << call << " in mode " << mode;
    }
  }
}

TEST(TheStack, OfASmallThreadIsEnough) {
  if (INLINE_PROF_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer has frames of its own";
  const Workplace place;
  place.write("schedule.json", R"({"warmup": 5, "repeat": 5, "patterns": [{"match": "*"}]})");
  const HostRun run = run_host(place, "host_stack", {.arguments = {"--tiny"}});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  EXPECT_EQ(run.output, "host ok\n");
  EXPECT_FALSE(place.json()["events"].empty());
}

}  // namespace
}  // namespace inline_prof::test
