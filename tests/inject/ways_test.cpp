// Programs that end in every way, or do what a careless library would break: each must behave as it
// does without the library.  Writes the table of ways to end in ways_to_end.md.
#include "run_host.hpp"
#include "testing.hpp"

namespace inline_prof::test {
namespace {

constexpr const char* kBegin = "<!-- ways to end: begin -->\n";
constexpr const char* kEnd = "<!-- ways to end: end -->\n";
const Texts kSchedule{"INLINE_PROF_WARMUP=3", "INLINE_PROF_REPEAT=5000"};

// `kind`: "ends" or "unusual".
Texts ways(const std::string& kind) {
  return lines_of(run_host("host_ways", {.arguments = {kind}, .with_library = false}).output);
}

// Runs the program without the library and under it, and compares all that it shows.
struct BothRuns {
  BothRuns(const std::string& kind, const std::string& way, const Texts& environment) {
    const Texts arguments{kind, way, INLINE_PROF_TEST_COPIES};
    alone = run_host("host_ways", {.arguments = arguments, .with_library = false, .seconds = 30});
    run = run_host(place, "host_ways",
                   {.arguments = arguments, .environment = environment, .seconds = 30});
    EXPECT_EQ(without_our_lines(run.output), alone.output) << way << ": " << run.output;
    EXPECT_EQ(run.exit_status, alone.exit_status) << way << ": " << run.output;
  }

  Workplace place;
  HostRun alone;
  HostRun run;
};

std::string status_text(int status) {
  return status < 128 ? std::to_string(status) : "signal " + std::to_string(status - 128);
}

// The program ends in the middle of measuring, so that no file is complete.
std::string file_text(const Workplace& place) {
  const auto names = place.names();
  if (names.empty()) return "none yet";
  if (names != Texts{"prof.json"}) return "files beside it";
  return place.json()["complete"] == true ? "complete" : "all samples so far";
}

std::string row(const std::string& way) {
  const BothRuns both("ends", way, kSchedule);
  const auto our_lines = lines_of(both.run.output).size() - lines_of(both.alone.output).size();
  EXPECT_LE(our_lines, 1U) << way << ": " << both.run.output;
  return "| " + way + " | " + status_text(both.alone.exit_status) + " | " +
         status_text(both.run.exit_status) + " | " + file_text(both.place) + " |\n";
}

TEST(EveryWayToEnd, IsTheSameWithUsAndStandsInTheTable) {
  if (INLINE_PROF_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer reports signals, with addresses";
  std::string table = kBegin;
  table += "| the way | status alone | with the library | prof.json |\n|---|---|---|---|\n";
  for (const std::string& way : ways("ends"))
    table += row(way);
  table += kEnd;
  std::ostringstream page;
  page << std::ifstream(INLINE_PROF_TEST_WAYS_PAGE).rdbuf();
  const std::string text = page.str();
  const auto begin = text.find(kBegin);
  const auto end = text.find(kEnd);
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos) << table;
  const std::string written = text.substr(begin, end + std::string(kEnd).size() - begin);
  if (std::getenv("INLINE_PROF_WRITE_PAGES") != nullptr) {
    std::ofstream(INLINE_PROF_TEST_WAYS_PAGE)
        << text.substr(0, begin) << table << text.substr(end + std::string(kEnd).size());
    return;
  }
  EXPECT_EQ(written, table) << "INLINE_PROF_WRITE_PAGES=1 puts the new table into the page";
}

TEST(AnUnusualProgram, DoesTheSameWithUs) {
  // Its functions that are named like libc's are called by a sanitizer's run-time library.
  if (INLINE_PROF_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer calls the program's functions";
  const auto all = ways("unusual");
  ASSERT_GE(all.size(), 6U);
  for (const std::string& way : all) {
    // An unknown name makes the library print a line at once.
    const BothRuns both(
        "unusual", way,
        {"INLINE_PROF_WARMUP=3", "INLINE_PROF_REPEAT=5", "INLINE_PROF_NO_SUCH_NAME=1"});
    EXPECT_THAT(both.alone.output, HasSubstr("host ok\n")) << way;
    if (way == "no thread can be started") {
      EXPECT_EQ(both.place.json()["complete"], true) << both.run.output;
      EXPECT_EQ(count_lines(both.run.output, "no thread for checkpoints"), 1);
    }
  }
}

TEST(AProgramThatIsTerminatedTwice, DiesThoughACallOfOursHangs) {
  if (INLINE_PROF_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer calls the program's functions";
  const BothRuns both("stuck", "terminated twice",
                      {"INLINE_PROF_WARMUP=3", "INLINE_PROF_REPEAT=5000",
                       "SIMGPU_FAIL=cuCtxGetCurrent:hang:after=200"});
  EXPECT_EQ(both.alone.exit_status, 128 + 15);
}

TEST(OurLines, AreFewAndDoNothingToATerminal) {
  std::string schedule = R"({"warmup": 3, "repeat": 5, "layers": {)";
  for (int i = 0; i < 3000; ++i) {
    schedule += (i == 0 ? "\"" : ", \"") + std::to_string(i) +
                R"(\u001b[2J": {"forward_events": ["absent\u001b]0;x\u0007)" + std::to_string(i) +
                R"("], "forward_occurrence": 0, "slip": 1})";
  }
  const HostRun run =
      run_host("host_training",
               {.arguments = {"--iterations=60", "--labels-of-one-use=40", "--stop-without-start"},
                .files = {{"schedule.json", schedule + "}}"}}});
  EXPECT_EQ(run.exit_status, 0);
  EXPECT_LE(lines_of(run.output).size(), 2U * 65 + 1);
  for (const char letter : run.output)
    EXPECT_TRUE(letter == '\n' || static_cast<unsigned char>(letter) >= 0x20) << int{letter};
}

// A stream that stays, with nothing on it, is followed by the one that has its work.
TEST(AStreamThatFallsSilent, IsFollowedByTheOneThatHasItsWork) {
  const ProfiledRun run(
      "host_script",
      {.arguments = {"script"},
       .environment = {"INLINE_PROF_WARMUP=3", "INLINE_PROF_REPEAT=30",
                       "INLINE_PROF_ITERATION=macro"},
       .files = {{"script",
                  "context 0 primary\nmodule 0 m0 module\nstream 2\nloop 200\niteration\n"
                  "?20+0 restream 2\nlaunch 0 0 2 1\nlaunch 0 1 2 1\nsync\nend\n"}}});
  // Two iterations go by until a change is noticed, and some fall into the same event.
  for (const auto& event : run.profile["events"])
    EXPECT_GE(event["measured_times_ms"].size(), 24U) << event["event_name"];
  EXPECT_THAT(run.output, HasSubstr("of 60 samples were taken"));
}

// The kernel that begins an iteration is launched first on a stream that takes the place of
// another: each time, or now and then; in the warm-up, too.
TEST(TheBeginOfAnIteration, IsFollowedToTheStreamThatTakesThePlaceOfItsOwn) {
  for (const char* source : {"kernel:m0_k0", "auto"}) {
    for (const char* again : {"?1+0 ", "?5+0 ", "!1600 "}) {
      SCOPED_TRACE(std::string(source) + " " + again);
      std::string script = "context 0 primary\nmodule 0 m0 module\nstream 2\nstream 3\nloop 2500\n";
      for (const char* step : {"sync", "unstream 2", "stream 2"})
        script += std::string(again) + step + "\n";
      script += "launch 0 0 2 1\nlaunch 0 1 2 2\nlaunch 0 2 2 1\nlaunch 0 3 3 1\nsync\nend\n";
      const ProfiledRun run(
          "host_script",
          {.arguments = {"script"},
           .environment = {"INLINE_PROF_WARMUP=3", "INLINE_PROF_REPEAT=5", "INLINE_PROF_OVERHEAD=0",
                           std::string("INLINE_PROF_ITERATION=") + source},
           .files = {{"script", script}}});
      EXPECT_THAT(run.output, Not(HasSubstr("inline_prof:")));
      EXPECT_EQ(run.profile["profiler"]["iteration_source"], source);
      EXPECT_EQ(run.profile["events"].size(), 5U);
      EXPECT_GE(run.profile["iter_time_ms"].size(), 25U);  // more where the search goes on
      expect_samples_of_each(run.profile, 5U);
    }
  }
}

// Two threads try kernels out in a set-up; the waits in the loop are the first one's all the same.
TEST(TheBeginOfAnIteration, IsFoundByWaitsAfterOtherThreadsHaveLaunched) {
  std::string script = "context 0 primary\nstream 2\n";
  std::string iteration;
  for (const char* module : {"0", "1", "2", "3", "4"}) {
    script += std::string("module ") + module + " m" + module + " module\n";
    for (const char* kernel : {"0", "1", "2", "3"})
      iteration += std::string("launch ") + module + " " + kernel + " 2 1\n";
  }
  script += "launch 0 0 2 1\n@1 launch 0 1 2 1\n@2 launch 0 1 2 1\nloop 60\n" + iteration;
  const ProfiledRun run("host_script",
                        {.arguments = {"script"},
                         .environment = {"INLINE_PROF_WARMUP=3", "INLINE_PROF_REPEAT=1"},
                         .files = {{"script", script + "sync\nend\n"}}});
  const json& profiler = run.profile["profiler"];
  ASSERT_TRUE(profiler.contains("iteration_launches")) << run.output;
  EXPECT_EQ(profiler["iteration_launches"], 20);
  EXPECT_GT(run.profile["iter_time_ms"].size(), 25U);
}

}  // namespace
}  // namespace inline_prof::test
