#include "run_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <sys/stat.h>

namespace inline_prof::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

HostOptions hundred_iterations(const Texts& settings) {
  return {.arguments = {"--iterations=100"}, .environment = settings, .seconds = 20};
}

// One sentence, no file, and the program runs as ever.  The unit tests have the other settings.
TEST(Configuration, ASettingThatCannotBeFollowedEndsProfilingWithASentence) {
  for (const char* setting :
       {"INLINE_PROF_WARMUP=10s: expected 0 to 1000000000",
        "PROFILING_REPEAT_TIMES_PER_EVENT=-1: expected 1 to 1000000",
        "INLINE_PROF_OUT=a%z.json: unknown %z; known are %h, %p, %r, %q{VAR} and %%"}) {
    const std::string said = setting;
    const Workplace place;
    const HostRun run =
        run_host(place, "host_training", hundred_iterations({said.substr(0, said.find(':'))}));
    EXPECT_EQ(run.exit_status, 0);
    EXPECT_EQ(run.output, "inline_prof: profiling is off: configuration: " + said +
                              "\nhost ok, 500 launches\n");
    EXPECT_THAT(place.files(), ElementsAre());
  }
}

TEST(Configuration, AWarmUpOfNoIterationsIsRefused) {
  const HostRun run = run_host("host_training", hundred_iterations({"INLINE_PROF_WARMUP=0"}));
  EXPECT_EQ(run.exit_status, 0);
  EXPECT_EQ(run.output,
            "inline_prof: profiling is off: schedule: a warm-up of 0 iterations: expected at least "
            "1, in which the events are met\nhost ok, 500 launches\n");
}

TEST(Configuration, IsOffWhereTheUserSaysSo) {
  for (const char* setting : {"INLINE_PROF_DISABLE=1", "INLINE_PROF_RANKS=1-3"}) {
    const Workplace place;
    const HostRun run = run_host(place, "host_training", hundred_iterations({setting}));
    EXPECT_EQ(run.output, "host ok, 500 launches\n") << setting;
    EXPECT_THAT(place.files(), ElementsAre());
  }
}

TEST(Configuration, WarnsOnceOfAnUnknownNameAndGoesOn) {
  const ProfiledRun run("host_training",
                        {.arguments = {"--iterations=200"},
                         .environment = {"INLINE_PROF_WARMPU=5", "INLINE_PROF_TORCH=1"}});
  EXPECT_EQ(run.output,
            "inline_prof: INLINE_PROF_WARMPU: unknown variable; did you mean INLINE_PROF_WARMUP? "
            "prof-run --help-env lists the known ones\nhost ok, 1000 launches\n");
  EXPECT_EQ(run.profile["complete"], true);
  EXPECT_THAT(run.profile["warnings"].dump(), HasSubstr("INLINE_PROF_WARMPU"));
}

TEST(Configuration, OursBeatsTheOriginalsAndBothBeatTheFile) {
  HostOptions options =
      hundred_iterations({"PROFILING_REPEAT_TIMES_PER_EVENT=6", "INLINE_PROF_REPEAT=2"});
  options.files["schedule.json"] = R"({"warmup": 4, "repeat": 3 /* samples */})";
  const ProfiledRun run("host_training", options);
  EXPECT_EQ(run.profile["profiler"]["warmup_iterations"], 4);
  EXPECT_EQ(run.profile["profiler"]["repeat"], 2);
}

// --- schedules that cannot be used

std::string garbage() {
  std::string bytes;
  for (unsigned i = 0; i < 4096; ++i)
    bytes.push_back(static_cast<char>((i * 2654435761U) >> 24U));
  return bytes;
}

TEST(Configuration, AScheduleThatCannotBeUsedEndsProfilingAtOnce) {
  const auto write = [](const std::string& text) {
    return [text](const Workplace& place) { place.write("schedule", text); };
  };
  const struct {
    const char* complaint;
    std::function<void(const Workplace&)> make;
  } rows[] = {
      {"No such file", [](auto&) {}},
      {"directory", [](auto& place) { create_directory(place.path() / "schedule"); }},
      {"", write("")},
      {"line 1", write(R"({"warmup": 10, "layers": {"fc1": {"forward_ev)")},
      {"", write(garbage())},
      {"once", write(R"({"mode": "once"})")},
      {"",  // sparse and huge
       [](auto& place) {
         place.write("schedule", "10\n");
         resize_file(place.path() / "schedule", std::uintmax_t{1} << 40U);
       }},
      {"",  // a pipe that nobody writes to: the program does not wait for one either
       [](auto& place) { ASSERT_EQ(mkfifo((place.path() / "schedule").c_str(), 0600), 0); }},
  };
  for (const auto& [complaint, make] : rows) {
    const Workplace place;
    make(place);
    const HostRun run =
        run_host(place, "host_training",
                 hundred_iterations({"INLINE_PROF_SCHEDULE=schedule", "INLINE_PROF_OUT=out.json"}));
    EXPECT_EQ(run.exit_status, 0) << run.output;
    EXPECT_THAT(run.output,
                testing::StartsWith("inline_prof: profiling is off: schedule: schedule"));
    EXPECT_THAT(lines_of(run.output), ElementsAre(HasSubstr(complaint), "host ok, 500 launches"));
    EXPECT_FALSE(exists(place.path() / "out.json"));
  }
}

}  // namespace
}  // namespace inline_prof::test
