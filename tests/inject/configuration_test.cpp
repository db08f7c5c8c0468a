#include "run_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>

namespace inline_prof::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A setting that cannot be followed: one sentence, no file, and the application's answers as ever.
struct Refusal {
  const char* name;
  const char* setting;
  const char* sentence;

  friend void PrintTo(const Refusal& row, std::ostream* out) { *out << row.setting; }
};

class ARefusedSetting : public testing::TestWithParam<Refusal> {};

TEST_P(ARefusedSetting, EndsProfilingWithASentence) {
  const Workplace place;
  const HostRun run =
      run_host(place, "host_training",
               {.arguments = {"--iterations=100"}, .environment = {GetParam().setting}});
  EXPECT_EQ(run.exit_status, 0);
  EXPECT_EQ(run.output, std::string("inline_prof: profiling is off: ") + GetParam().sentence +
                            "\nhost ok, 500 launches\n");
  EXPECT_THAT(place.files(), ElementsAre());
}

INSTANTIATE_TEST_SUITE_P(
    All, ARefusedSetting,
    testing::Values(
        Refusal{"WarmupNotANumber", "INLINE_PROF_WARMUP=ten",
                "configuration: INLINE_PROF_WARMUP=ten: expected 0 to 1000000000"},
        Refusal{"WarmupWithAUnit", "INLINE_PROF_WARMUP=10s",
                "configuration: INLINE_PROF_WARMUP=10s: expected 0 to 1000000000"},
        Refusal{"NoWarmup", "INLINE_PROF_WARMUP=0",
                "schedule: a warm-up of 0 iterations: expected at least 1, in which the events are "
                "met"},
        Refusal{"OriginalRepeatNegative", "PROFILING_REPEAT_TIMES_PER_EVENT=-1",
                "configuration: PROFILING_REPEAT_TIMES_PER_EVENT=-1: expected 1 to 1000000"},
        Refusal{
            "Policy", "INLINE_PROF_POLICY=greedy",
            "configuration: INLINE_PROF_POLICY=greedy: expected in_order, interleaved, adaptive"},
        Refusal{"Mode", "INLINE_PROF_MODE=once",
                "configuration: INLINE_PROF_MODE=once: expected fine_grained, one_shot, data, "
                "unit_test"},
        Refusal{"OriginalMode", "PROFILING_MODE=3",
                "configuration: PROFILING_MODE=3: expected 0, 1, 2"},
        Refusal{"Backend", "INLINE_PROF_BACKEND=nsight",
                "configuration: INLINE_PROF_BACKEND=nsight: expected driver, cupti"},
        Refusal{"Iteration", "INLINE_PROF_ITERATION=every",
                "configuration: INLINE_PROF_ITERATION=every: expected auto, macro, optimizer, "
                "nvtx:GLOB, kernel:GLOB or period:N (1 to 65536)"},
        Refusal{"Ranks", "INLINE_PROF_RANKS=0,x",
                "configuration: INLINE_PROF_RANKS=0,x: expected all, or ranks such as 0,2,8-15"},
        Refusal{"Template", "INLINE_PROF_OUT=a%z.json",
                "configuration: INLINE_PROF_OUT=a%z.json: unknown %z; known are %h, %p, %r, "
                "%q{VAR} and %%"}),
    [](const auto& row) { return row.param.name; });

TEST(Configuration, IsOffWhereTheUserSaysSo) {
  for (const char* setting : {"INLINE_PROF_DISABLE=1", "INLINE_PROF_RANKS=1-3"}) {
    const Workplace place;
    const HostRun run = run_host(place, "host_training",
                                 {.arguments = {"--iterations=100"}, .environment = {setting}});
    EXPECT_EQ(run.output, "host ok, 500 launches\n") << setting;
    EXPECT_THAT(place.files(), ElementsAre());
  }
}

TEST(Configuration, WarnsOnceOfAnUnknownNameAndGoesOn) {
  const Workplace place;
  const HostRun run = run_host(place, "host_training",
                               {.arguments = {"--iterations=200"},
                                .environment = {"INLINE_PROF_WARMPU=5", "INLINE_PROF_TORCH=1"}});
  EXPECT_EQ(
      run.output,
      "inline_prof: INLINE_PROF_WARMPU: unknown variable; prof-run --help-env lists the known "
      "ones\nhost ok, 1000 launches\n");
  const auto profile = place.json();
  EXPECT_EQ(profile["complete"], true);
  EXPECT_THAT(profile["warnings"].dump(), HasSubstr("INLINE_PROF_WARMPU"));
}

TEST(Configuration, OursBeatsTheOriginalsAndBothBeatTheFile) {
  const Workplace place;
  place.write("schedule.json", R"({"warmup": 4, "repeat": 3 /* samples */})");
  const HostRun run =
      run_host(place, "host_training",
               {.arguments = {"--iterations=100"},
                .environment = {"PROFILING_REPEAT_TIMES_PER_EVENT=6", "INLINE_PROF_REPEAT=2"}});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  const auto profiler = place.json()["profiler"];
  EXPECT_EQ(profiler["warmup_iterations"], 4);
  EXPECT_EQ(profiler["repeat"], 2);
}

// --- schedules that cannot be used

class BadSchedule : public testing::Test {
 protected:
  // The run with INLINE_PROF_SCHEDULE=`path`: off, with one line, which is returned.
  std::string sentence_for(const std::string& path) {
    const HostRun run =
        run_host(place_, "host_training",
                 {.arguments = {"--iterations=100"},
                  .environment = {"INLINE_PROF_SCHEDULE=" + path, "INLINE_PROF_OUT=out.json"},
                  .seconds = 20});
    EXPECT_EQ(run.exit_status, 0) << run.output;
    EXPECT_THAT(run.output,
                testing::StartsWith("inline_prof: profiling is off: schedule: " + path));
    EXPECT_THAT(run.output, testing::EndsWith("\nhost ok, 500 launches\n"));
    EXPECT_FALSE(std::filesystem::exists(place_.path() / "out.json"));
    return run.output.substr(0, run.output.find('\n'));
  }
  Workplace place_;
};

TEST_F(BadSchedule, Missing) {
  EXPECT_THAT(sentence_for("nowhere.schedule"), HasSubstr("No such file"));
}

TEST_F(BadSchedule, ADirectory) {
  std::filesystem::create_directory(place_.path() / "folder");
  EXPECT_THAT(sentence_for("folder"), HasSubstr("directory"));
}

TEST_F(BadSchedule, Empty) {
  place_.write("empty.schedule", "");
  sentence_for("empty.schedule");
}

TEST_F(BadSchedule, Truncated) {
  place_.write("cut.json", R"({"warmup": 10, "layers": {"fc1": {"forward_ev)");
  EXPECT_THAT(sentence_for("cut.json"), HasSubstr("line 1"));
}

TEST_F(BadSchedule, Garbage) {
  std::string bytes;
  for (unsigned i = 0; i < 4096; ++i)
    bytes.push_back(static_cast<char>((i * 2654435761U) >> 24U));
  place_.write("garbage.schedule", bytes);
  sentence_for("garbage.schedule");
}

TEST_F(BadSchedule, SparseAndHuge) {
  place_.write("sparse.schedule", "10\n");
  std::filesystem::resize_file(place_.path() / "sparse.schedule", std::uintmax_t{1} << 40U);
  sentence_for("sparse.schedule");
}

TEST_F(BadSchedule, APipeNobodyWritesTo) {
  ASSERT_EQ(mkfifo((place_.path() / "pipe").c_str(), 0600), 0);
  sentence_for("pipe");  // and the application did not wait
}

TEST_F(BadSchedule, AModeThatIsNotThere) {
  place_.write("mode.json", R"({"mode": "once"})");
  const HostRun run = run_host(
      place_, "host_training",
      {.arguments = {"--iterations=100"}, .environment = {"INLINE_PROF_SCHEDULE=mode.json"}});
  EXPECT_THAT(run.output, HasSubstr("profiling is off: schedule: mode.json"));
  EXPECT_THAT(run.output, HasSubstr("once"));
}

}  // namespace
}  // namespace inline_prof::test
