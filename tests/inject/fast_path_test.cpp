#include "run_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inline_prof::test {
namespace {

using testing::HasSubstr;

// The launch wrappers are also read as machine code: link_rules.
TEST(AnUnmeasuredLaunch, NeitherAllocatesNorLocksNorReadsAClock) {
  if (INLINE_PROF_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer has an allocator of its own";
  const Workplace place;
  place.write("prof.events", "armed\n");
  const HostRun run = run_host(place, "host_fast_path", {.environment = {"SIMGPU_LAUNCH=null"}});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("host ok, 0 allocations, 0 locks, 0 clock reads"));
  // The hook ran: 20 iterations end within the schedule of 10 + 50.
  EXPECT_EQ(place.json()["overhead"]["armed_iterations"], 10);
}

TEST(TheCountingHost, SeesTheDriversOwnAllocations) {
  if (INLINE_PROF_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer has an allocator of its own";
  // The same program over a driver that does simulate: the counters do count.
  const Workplace place;
  const HostRun run = run_host(place, "host_fast_path", {});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  EXPECT_THAT(run.output, testing::Not(HasSubstr(" 0 locks")));
}

}  // namespace
}  // namespace inline_prof::test
