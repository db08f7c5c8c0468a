#include "run_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sys/stat.h>

namespace inline_prof::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

HostOptions hundred_iterations(const Texts& settings) {
  return {.arguments = {"--iterations=100"}, .environment = settings, .seconds = 20};
}

// A setting that cannot be followed: one sentence, no file, and the program runs as ever.
struct Refusal {
  const char* name;
  const char* setting;
  const char* expected;  // of the sentence, behind the setting

  friend void PrintTo(const Refusal& row, std::ostream* out) { *out << row.setting; }
};

class ARefusedSetting : public testing::TestWithParam<Refusal> {};

TEST_P(ARefusedSetting, EndsProfilingWithASentence) {
  const Workplace place;
  const HostRun run = run_host(place, "host_training", hundred_iterations({GetParam().setting}));
  EXPECT_EQ(run.exit_status, 0);
  EXPECT_EQ(run.output, std::string("inline_prof: profiling is off: configuration: ") +
                            GetParam().setting + ": " + GetParam().expected +
                            "\nhost ok, 500 launches\n");
  EXPECT_THAT(place.files(), ElementsAre());
}

INSTANTIATE_TEST_SUITE_P(
    All, ARefusedSetting,
    testing::Values(
        Refusal{"WarmupNotANumber", "INLINE_PROF_WARMUP=ten", "expected 0 to 1000000000"},
        Refusal{"WarmupWithAUnit", "INLINE_PROF_WARMUP=10s", "expected 0 to 1000000000"},
        Refusal{"OriginalRepeatNegative", "PROFILING_REPEAT_TIMES_PER_EVENT=-1",
                "expected 1 to 1000000"},
        Refusal{"Policy", "INLINE_PROF_POLICY=greedy", "expected in_order, interleaved, adaptive"},
        Refusal{"Mode", "INLINE_PROF_MODE=once",
                "expected fine_grained, one_shot, data, unit_test"},
        Refusal{"OriginalMode", "PROFILING_MODE=3", "expected 0, 1, 2"},
        Refusal{"Backend", "INLINE_PROF_BACKEND=nsight", "expected driver, cupti"},
        Refusal{"Iteration", "INLINE_PROF_ITERATION=every",
                "expected auto, macro, optimizer, nvtx:GLOB, kernel:GLOB or period:N (1 to 65536)"},
        Refusal{"Ranks", "INLINE_PROF_RANKS=0,x", "expected all, or ranks such as 0,2,8-15"},
        Refusal{"Template", "INLINE_PROF_OUT=a%z.json",
                "unknown %z; known are %h, %p, %r, %q{VAR} and %%"}),
    [](const auto& row) { return row.param.name; });

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

struct BadFile {
  const char* name;
  void (*make)(const Workplace& place, const std::string& path);
  const char* complaint = "";
};

class ABadSchedule : public testing::TestWithParam<BadFile> {};

TEST_P(ABadSchedule, EndsProfilingAtOnce) {
  const Workplace place;
  GetParam().make(place, (place.path() / "schedule").string());
  const HostRun run =
      run_host(place, "host_training",
               hundred_iterations({"INLINE_PROF_SCHEDULE=schedule", "INLINE_PROF_OUT=out.json"}));
  EXPECT_EQ(run.exit_status, 0) << run.output;
  EXPECT_THAT(run.output, testing::StartsWith("inline_prof: profiling is off: schedule: schedule"));
  EXPECT_THAT(lines_of(run.output),
              ElementsAre(HasSubstr(GetParam().complaint), "host ok, 500 launches"));
  EXPECT_FALSE(std::filesystem::exists(place.path() / "out.json"));
}

INSTANTIATE_TEST_SUITE_P(
    All, ABadSchedule,
    testing::Values(
        BadFile{"Missing", [](auto&, auto&) {}, "No such file"},
        BadFile{"ADirectory", [](auto&, auto& path) { std::filesystem::create_directory(path); },
                "directory"},
        BadFile{"Empty", [](auto& place, auto&) { place.write("schedule", ""); }},
        BadFile{"Truncated",
                [](auto& place, auto&) {
                  place.write("schedule", R"({"warmup": 10, "layers": {"fc1": {"forward_ev)");
                },
                "line 1"},
        BadFile{"Garbage", [](auto& place, auto&) { place.write("schedule", garbage()); }},
        BadFile{"SparseAndHuge",
                [](auto& place, auto& path) {
                  place.write("schedule", "10\n");
                  std::filesystem::resize_file(path, std::uintmax_t{1} << 40U);
                }},
        // The program does not wait for one either.
        BadFile{"APipeNobodyWritesTo",
                [](auto&, auto& path) { ASSERT_EQ(mkfifo(path.c_str(), 0600), 0); }},
        BadFile{"AModeThatIsNotThere",
                [](auto& place, auto&) { place.write("schedule", R"({"mode": "once"})"); },
                "once"}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace inline_prof::test
