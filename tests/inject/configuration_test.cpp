#include "run_host.hpp"
#include "testing.hpp"

#include <sys/stat.h>

namespace inline_prof::test {
namespace {

HostOptions hundred_iterations(const Texts& settings) {
  return {.arguments = {"--iterations=100"}, .environment = settings, .seconds = 20};
}

// One sentence, no file, and the program runs as ever.  The unit tests have the other settings.
TEST(Configuration, ASettingThatCannotBeFollowedEndsProfilingWithASentence) {
  for (const auto& [setting, sentence] :
       {std::pair{"INLINE_PROF_OUT=a%z.json",
                  "configuration: INLINE_PROF_OUT=a%z.json: unknown %z; known are %h, %p, %r, "
                  "%q{VAR} and %%"},
        std::pair{"INLINE_PROF_WARMUP=0",
                  "schedule: a warm-up of 0 iterations: expected at least 1, in which the events "
                  "are met"}}) {
    const Workplace place;
    const HostRun run = run_host(place, "host_training", hundred_iterations({setting}));
    EXPECT_EQ(run.exit_status, 0);
    EXPECT_EQ(run.output, std::string("inline_prof: profiling is off: ") + sentence +
                              "\nhost ok, 500 launches\n");
    EXPECT_THAT(place.names(), ElementsAre());
  }
}

TEST(Configuration, IsOffWhereTheUserSaysSo) {
  for (const char* setting : {"INLINE_PROF_DISABLE=1", "INLINE_PROF_RANKS=1-3"}) {
    const Workplace place;
    const HostRun run = run_host(place, "host_training", hundred_iterations({setting}));
    EXPECT_EQ(run.output, "host ok, 500 launches\n") << setting;
    EXPECT_THAT(place.names(), ElementsAre());
  }
}

TEST(Configuration, TheProfileMayGoToAPipe) {
  const Workplace place;
  const HostRun run =
      run_host(place, "host_training", hundred_iterations({"INLINE_PROF_OUT=/dev/stdout"}));
  EXPECT_THAT(run.output, HasSubstr("host ok, 500 launches\n"));
  const std::string text =
      run.output.substr(std::min(run.output.find("{\"schema\""), run.output.size()));
  EXPECT_EQ(json::parse(text.substr(0, text.rfind('}') + 1), nullptr, false)["events"].size(), 3U);
  EXPECT_EQ(run.wrote, "/dev/stdout");
  EXPECT_THAT(place.names(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists("/dev/stdout.1"));
}

// The unit tests have the other files and texts.
TEST(Configuration, AScheduleThatCannotBeUsedEndsProfilingAtOnce) {
  const struct {
    const char* complaint;
    std::function<void(const Workplace&)> make;
  } rows[] = {
      {"No such file", [](auto&) {}},
      {"line 1", [](auto& place) { place.file("schedule", R"({"warmup": 10, "layers)"); }},
      {"",  // a pipe that nobody writes to: the program does not wait for one either
       [](auto& place) { ASSERT_EQ(mkfifo(place.path("schedule").c_str(), 0600), 0); }},
  };
  for (const auto& [complaint, make] : rows) {
    const Workplace place;
    make(place);
    const HostRun run =
        run_host(place, "host_training",
                 hundred_iterations({"INLINE_PROF_SCHEDULE=schedule", "INLINE_PROF_OUT=out.json"}));
    EXPECT_EQ(run.exit_status, 0) << run.output;
    EXPECT_THAT(run.output, StartsWith("inline_prof: profiling is off: schedule: schedule"));
    EXPECT_THAT(lines_of(run.output), ElementsAre(HasSubstr(complaint), "host ok, 500 launches"));
    EXPECT_FALSE(std::filesystem::exists(place.path("out.json")));
  }
}

}  // namespace
}  // namespace inline_prof::test
