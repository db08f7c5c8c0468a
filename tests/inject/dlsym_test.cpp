#include "run_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inline_prof::test {
namespace {

using testing::HasSubstr;

TEST(Lookups, FindWhatTheyWouldHaveFoundWithoutUs) {
  const Workplace with;
  const Workplace without;
  const HostRun guest = run_host(with, "host_lookup", {});
  const HostRun plain = run_host(without, "host_lookup", {.with_guest = false});
  EXPECT_EQ(plain.exit_status, 0) << plain.output;
  EXPECT_EQ(guest.exit_status, 0) << guest.output;
  EXPECT_THAT(plain.output, HasSubstr("before: default absent"));
  // Whether two look-ups give one address is the driver's affair; all else must be equal.
  const auto head = [](const std::string& text) {
    const auto begin = text.find("before: ");
    return text.substr(begin, text.find("same ") - begin);
  };
  EXPECT_EQ(head(guest.output), head(plain.output));
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

}  // namespace
}  // namespace inline_prof::test
