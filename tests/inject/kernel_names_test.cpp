// A kernel is its module and its name, whatever handle is launched and however old the driver is.
#include "run_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inline_prof::test {
namespace {

using testing::ElementsAre;

// Names and occurrences, in the order of the iteration.
std::vector<std::string> events(const nlohmann::json& profile) {
  std::vector<std::string> found;
  for (const auto& event : profile["events"]) {
    found.push_back(event["event_name"].get<std::string>() + ' ' +
                    std::to_string(event["met_times_within_this_stream"].get<int>()));
    EXPECT_EQ(event["kernel_name"], "_Z4samev");
    EXPECT_EQ(event["measured_times_ms"].size(), 2U) << found.back();
  }
  return found;
}

void expect_one_kernel_and_another(const std::string& driver, const char* entry_point) {
  const Workplace place;
  HostOptions options{.arguments = {entry_point},
                      .environment = {"INLINE_PROF_WARMUP=2", "INLINE_PROF_REPEAT=2"}};
  if (!driver.empty()) options.environment.push_back("LD_LIBRARY_PATH=" + driver);
  const HostRun run = run_host(place, "host_kernels", options);
  EXPECT_EQ(run.exit_status, 0) << run.output;
  EXPECT_EQ(run.output, "host ok\n");
  EXPECT_THAT(events(place.json()), ElementsAre("same 0", "same 1", "same~2 0", "same 2"))
      << driver << ' ' << entry_point;
}

TEST(AKernel, IsOneWhateverHandleIsLaunched) {
  expect_one_kernel_and_another("", "--linked");
  expect_one_kernel_and_another("", "--looked-up");
}

TEST(AKernel, HasItsNameFromADriverThatGivesNone) {
  const std::string driver = INLINE_PROF_TEST_OLDER_DRIVERS "/cuFuncGetName";
  expect_one_kernel_and_another(driver, "--linked");
  expect_one_kernel_and_another(driver, "--looked-up");
}

}  // namespace
}  // namespace inline_prof::test
