// Look-ups of functions: programs find what they would have found without the library.
#include "run_host.hpp"
#include "testing.hpp"

namespace inline_prof::test {
namespace {

HostOptions alone(HostOptions options) {
  options.with_library = false;
  return options;
}

TEST(Lookups, FindWhatTheyWouldHaveFoundWithoutUsAndAreWrappedOnEveryPath) {
  const ProfiledRun injected("host_lookup");
  const HostRun plain = run_host("host_lookup", alone({}));
  EXPECT_EQ(plain.exit_status, 0) << plain.output;
  EXPECT_THAT(plain.output, HasSubstr("before: default absent"));
  // Whether two look-ups give one address is up to the driver; all else must be equal.
  const auto head = [](const std::string& text) {
    const auto begin = text.find("before: ");
    return text.substr(begin, text.find("same ") - begin);
  };
  EXPECT_EQ(head(injected.output), head(plain.output));

  EXPECT_THAT(injected.output, HasSubstr("same yes\nstreams apart yes\nhost ok, 0 failures"));
  // Five launches by five look-ups, no iteration.
  EXPECT_EQ(injected.profile["overhead"]["launches_seen"], 5);
  // Too few for samples.  The kernel and its launches are listed all the same, one event a stream.
  int calls = 0;
  for (const auto& event : injected.profile["events"]) {
    EXPECT_EQ(event["kernel_name"], "k");
    EXPECT_TRUE(event["measured_times_ms"].empty());
    calls += event["calls"].get<int>();
  }
  EXPECT_EQ(calls, 5);
}

// Weak references, look-ups of libraries that are not there, two copies of one, and exceptions that
// they throw.
TEST(Copies, AreReachedAsTheyWouldBeWithoutUs) {
  const HostOptions options{.arguments = {INLINE_PROF_TEST_COPIES},
                            .environment = {"LD_LIBRARY_PATH=" INLINE_PROF_TEST_COPIES}};
  const HostRun injected = run_host("host_copies", options);
  const HostRun plain = run_host("host_copies", alone(options));
  EXPECT_EQ(plain.exit_status, 0) << plain.output;
  EXPECT_EQ(injected.exit_status, 0) << injected.output;
  EXPECT_THAT(plain.output, HasSubstr("weak absent absent\n"));
  EXPECT_THAT(plain.output, HasSubstr("linked 1 2 1\nin scope 1 2\nlooked up 1 2 3\n"));
  EXPECT_THAT(plain.output, HasSubstr("thrown 21, then 1\n"));
  // Only where the functions lie may differ, which shows that the library is there at all.
  const auto lines = [](const HostRun& run, bool about_places) {
    Texts kept;
    std::ranges::copy_if(lines_of(run.output), std::back_inserter(kept), [&](const auto& line) {
      return (line.find(" in lib") != std::string::npos) == about_places;
    });
    return kept;
  };
  EXPECT_EQ(lines(injected, false), lines(plain, false));
  EXPECT_THAT(lines(plain, true),
              ElementsAre("first in libcublas.so.13", "third in libcublas-third.so.13"));
  EXPECT_THAT(lines(injected, true),
              ElementsAre("first in libinline_prof.so", "third in libcublas-third.so.13"));
}

}  // namespace
}  // namespace inline_prof::test
