#include "run_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace inline_prof::test {
namespace {

using testing::HasSubstr;

TEST(Lookups, FindWhatTheyWouldHaveFoundWithoutUs) {
  const Workplace with;
  const Workplace without;
  const HostRun injected = run_host(with, "host_lookup", {});
  const HostRun plain = run_host(without, "host_lookup", {.with_library = false});
  EXPECT_EQ(plain.exit_status, 0) << plain.output;
  EXPECT_EQ(injected.exit_status, 0) << injected.output;
  EXPECT_THAT(plain.output, HasSubstr("before: default absent"));
  // Whether two look-ups give one address is the driver's affair; all else must be equal.
  const auto head = [](const std::string& text) {
    const auto begin = text.find("before: ");
    return text.substr(begin, text.find("same ") - begin);
  };
  EXPECT_EQ(head(injected.output), head(plain.output));
}

TEST(Lookups, AreWrappedByEveryDoor) {
  const Workplace place;
  const HostRun run = run_host(place, "host_lookup", {});
  EXPECT_THAT(run.output, HasSubstr("same yes\nstreams apart yes\nhost ok, 0 failures"));
  // Five launches by five look-ups, no boundary.
  const auto profile = place.json();
  EXPECT_EQ(profile["overhead"]["launches_seen"], 5);
  // Too few for samples: the kernel and its launches are listed all the same, one event a stream.
  int calls = 0;
  for (const auto& event : profile["events"]) {
    EXPECT_EQ(event["kernel_name"], "k");
    EXPECT_TRUE(event["measured_times_ms"].empty());
    calls += event["calls"].get<int>();
  }
  EXPECT_EQ(calls, 5);
}

// Weak references, look-ups of libraries that are not there, two copies of one, and what they
// throw.
TEST(Copies, AreReachedAsTheyWouldBeWithoutUs) {
  const Workplace with;
  const Workplace without;
  const HostOptions options{.arguments = {INLINE_PROF_TEST_COPIES},
                            .environment = {"LD_LIBRARY_PATH=" INLINE_PROF_TEST_COPIES}};
  HostOptions alone = options;
  alone.with_library = false;
  const HostRun injected = run_host(with, "host_copies", options);
  const HostRun plain = run_host(without, "host_copies", alone);
  EXPECT_EQ(plain.exit_status, 0) << plain.output;
  EXPECT_EQ(injected.exit_status, 0) << injected.output;
  EXPECT_THAT(plain.output, HasSubstr("weak absent absent\n"));
  EXPECT_THAT(plain.output, HasSubstr("linked 1 2 1\nin scope 1 2\nlooked up 1 2 3\n"));
  EXPECT_THAT(plain.output, HasSubstr("thrown 21, then 1\n"));
  // Where the functions lie is all that may differ, and shows that we are there at all.
  const auto said = [](const std::string& text, bool where) {
    std::string kept;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if ((line.find(" in lib") != std::string::npos) == where) kept += line + '\n';
    }
    return kept;
  };
  EXPECT_EQ(said(injected.output, false), said(plain.output, false));
  EXPECT_EQ(said(plain.output, true), "first in libcublas.so.13\nthird in libcublas-third.so.13\n");
  EXPECT_EQ(said(injected.output, true),
            "first in libinline_prof.so\nthird in libcublas-third.so.13\n");
}

}  // namespace
}  // namespace inline_prof::test
