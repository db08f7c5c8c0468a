// Programs that do what they may, and that a careless library would harm: the same with us as
// without.
#include "run_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace inline_prof::test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<std::string> ways() {
  const Workplace place;
  std::istringstream lines(run_host(place, "host_unusual", {.with_library = false}).output);
  std::vector<std::string> found;
  for (std::string line; std::getline(lines, line);)
    found.push_back(line);
  return found;
}

std::string without_our_lines(const std::string& output) {
  std::string rest;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("inline_prof: ", 0) != 0) rest += line + "\n";
  }
  return rest;
}

TEST(AnUnusualProgram, DoesTheSameWithUs) {
  // Its functions that are named like libc's are called by a sanitizer's run-time library.
  if (INLINE_PROF_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer calls the program's functions";
  const auto all = ways();
  ASSERT_GE(all.size(), 6U);
  for (const std::string& way : all) {
    const Workplace place;
    const std::vector<std::string> arguments{way, INLINE_PROF_TEST_COPIES};
    const HostRun alone =
        run_host(place, "host_unusual", {.arguments = arguments, .with_library = false});
    const HostRun run = run_host(place, "host_unusual",
                                 {.arguments = arguments,
                                  // A name that nobody knows makes us speak at once.
                                  .environment = {"INLINE_PROF_WARMUP=3", "INLINE_PROF_REPEAT=5",
                                                  "INLINE_PROF_NO_SUCH_NAME=1"},
                                  .seconds = 30});
    EXPECT_EQ(run.exit_status, alone.exit_status) << way << ": " << run.output;
    EXPECT_EQ(without_our_lines(run.output), alone.output) << way << ": " << run.output;
    EXPECT_THAT(alone.output, HasSubstr("host ok\n")) << way;
  }
}

TEST(OurLines, AreFewAndDoNothingToATerminal) {
  const Workplace place;
  std::string schedule = R"({"warmup": 3, "repeat": 5, "layers": {)";
  for (int i = 0; i < 3000; ++i) {
    schedule += (i == 0 ? "\"" : ", \"") + std::to_string(i) +
                R"(\u001b[2J": {"forward_events": ["absent\u001b]0;x\u0007)" + std::to_string(i) +
                R"("], "forward_occurrence": 0, "slip": 1})";
  }
  place.write("schedule.json", schedule + "}}");
  const HostRun run = run_host(
      place, "host_training",
      {.arguments = {"--iterations=60", "--labels-of-one-use=40", "--stop-without-start"}});
  EXPECT_EQ(run.exit_status, 0);
  EXPECT_LE(std::count(run.output.begin(), run.output.end(), '\n'), 2 * 65 + 1);
  for (const char letter : run.output) {
    EXPECT_TRUE(letter == '\n' || static_cast<unsigned char>(letter) >= 0x20) << int{letter};
  }
}

// A stream that stays, with nothing on it, is followed by the one that has its work.
TEST(AStreamThatFallsSilent, IsFollowedByTheOneThatHasItsWork) {
  const Workplace place;
  place.write("script",
              "context 0 primary\nmodule 0 m0 module\nstream 2\nloop 200\niteration\n"
              "?20+0 restream 2\nlaunch 0 0 2 1\nlaunch 0 1 2 1\nsync\nend\n");
  const HostRun run = run_host(place, "host_script",
                               {.arguments = {"script"},
                                .environment = {"INLINE_PROF_WARMUP=3", "INLINE_PROF_REPEAT=30",
                                                "INLINE_PROF_ITERATION=macro"}});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  // Two iterations go by until a change is noticed, and some fall into the same event.
  const auto profile = place.json();
  for (const auto& event : profile["events"])
    EXPECT_GE(event["measured_times_ms"].size(), 24U) << event["event_name"];
  EXPECT_THAT(run.output, HasSubstr("of 60 samples were taken"));
}

// What begins an iteration is launched first on a stream that takes the place of another: each
// time, or now and then; in the warm-up, too.
TEST(WhatBeginsAnIteration, IsFollowedToTheStreamThatTakesThePlaceOfItsOwn) {
  for (const char* source : {"kernel:m0_k0", "auto"}) {
    for (const char* again : {"?1+0 ", "?5+0 ", "!1600 "}) {
      SCOPED_TRACE(std::string(source) + " " + again);
      const Workplace place;
      std::string script = "context 0 primary\nmodule 0 m0 module\nstream 2\nstream 3\nloop 2500\n";
      for (const char* step : {"sync", "unstream 2", "stream 2"})
        script += std::string(again) + step + "\n";
      script += "launch 0 0 2 1\nlaunch 0 1 2 2\nlaunch 0 2 2 1\nlaunch 0 3 3 1\nsync\nend\n";
      place.write("script", script);
      const HostRun run = run_host(
          place, "host_script",
          {.arguments = {"script"},
           .environment = {"INLINE_PROF_WARMUP=3", "INLINE_PROF_REPEAT=5", "INLINE_PROF_OVERHEAD=0",
                           std::string("INLINE_PROF_ITERATION=") + source}});
      EXPECT_EQ(run.exit_status, 0) << run.output;
      EXPECT_THAT(run.output, Not(HasSubstr("inline_prof:")));
      const auto profile = place.json();
      EXPECT_EQ(profile["profiler"]["iteration_source"], source);
      EXPECT_EQ(profile["events"].size(), 5U);
      EXPECT_EQ(profile["iter_time_ms"].size(), 25U);
      for (const auto& event : profile["events"])
        EXPECT_EQ(event["measured_times_ms"].size(), 5U) << event["event_name"];
    }
  }
}

TEST(TheOutputFile, IsNeverADevicesNeighbour) {
  const Workplace place;
  const HostRun run =
      run_host(place, "host_training",
               {.arguments = {"--iterations=20"}, .environment = {"INLINE_PROF_OUT=/dev/full"}});
  EXPECT_EQ(run.exit_status, 0);
  EXPECT_THAT(run.output, HasSubstr("/dev/full: is no regular file"));
  EXPECT_FALSE(std::filesystem::exists("/dev/full.1"));
}

}  // namespace
}  // namespace inline_prof::test
