// Each variable: default, precedence, and the message about a bad value.
#include "sys/config.hpp"

#include "sys/log.hpp"
#include "temporary_folder.hpp"
#include "testing.hpp"

#include <unistd.h>

namespace inline_prof::sys {
namespace {

// Starts without any variable that the injected library reads.
class ReadConfig : public Test {
 protected:
  ReadConfig() {
    std::vector<std::string> names;
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string_view text = *entry;
      if (text.starts_with("INLINE_PROF_") || text.starts_with("PROFILING_"))
        names.emplace_back(text.substr(0, text.find('=')));
    }
    for (const char* name :
         {"RANK", "WORLD_SIZE", "LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
          "OMPI_COMM_WORLD_LOCAL_RANK", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "SLURM_PROCID",
          "SLURM_NTASKS", "SLURM_LOCALID"})
      names.emplace_back(name);
    for (const std::string& name : names)
      environment_.clear(name);
  }
  ~ReadConfig() override { set_log_level(LogLevel::kWarning); }

  void set(const std::string& name, const std::string& value) { environment_.set(name, value); }

  [[nodiscard]] static Config read() {
    const std::optional<Config> config = read_config();
    EXPECT_TRUE(config.has_value());
    return config.value_or(Config{});
  }
  [[nodiscard]] static std::string complaint() {
    return test::complaint([] { return read_config(); });
  }

 private:
  test::Environment environment_;
};

TEST_F(ReadConfig, GivesTheDefaultsWhereNothingIsSet) {
  const Config config = read();
  EXPECT_EQ(config.schedule_path, "");
  EXPECT_EQ(config.output_template, "");
  EXPECT_EQ(config.directory, ".");
  EXPECT_FALSE(config.directory_is_set);
  EXPECT_EQ(config.warmup, std::nullopt);
  EXPECT_EQ(config.repeat, std::nullopt);
  EXPECT_EQ(config.policy, std::nullopt);
  EXPECT_EQ(config.seed, 1U);
  EXPECT_FALSE(config.seed_is_set);
  EXPECT_FALSE(config.exit_when_done);
  EXPECT_FALSE(config.mode.has_value());
  EXPECT_EQ(config.iteration_source, IterationSource::kAuto);
  EXPECT_EQ(config.trigger_signal, 0);
  EXPECT_EQ(config.data_iterations, 0);
  EXPECT_EQ(config.checkpoint_seconds, 30);
  EXPECT_EQ(config.rank, std::nullopt);
  EXPECT_THAT(config.warnings, IsEmpty());
}

TEST_F(ReadConfig, TakesEveryVariable) {
  set("INLINE_PROF_SCHEDULE", "s.json");
  set("INLINE_PROF_OUT", "%h.json");
  set("INLINE_PROF_DIR", "/x");
  set("INLINE_PROF_WARMUP", "0");
  set("INLINE_PROF_REPEAT", "1000000");
  set("INLINE_PROF_POLICY", "interleaved");
  set("INLINE_PROF_SEED", "18446744073709551615");
  set("INLINE_PROF_MODE", "data");
  set("INLINE_PROF_EXIT_WHEN_DONE", "1");
  set("INLINE_PROF_CHECKPOINT", "86400");
  set("PROFILING_DATA_COLLECTION_ITERS", "7");
  const Config config = read();
  EXPECT_EQ(config.schedule_path, "s.json");
  EXPECT_EQ(config.output_template, "%h.json");
  EXPECT_EQ(config.directory, "/x");
  EXPECT_TRUE(config.directory_is_set);
  EXPECT_EQ(config.warmup, 0);
  EXPECT_EQ(config.repeat, 1'000'000);
  EXPECT_EQ(config.policy, "interleaved");
  EXPECT_EQ(config.seed, 18446744073709551615ULL);
  EXPECT_TRUE(config.seed_is_set);
  EXPECT_EQ(config.mode, "data");
  EXPECT_TRUE(config.exit_when_done);
  EXPECT_EQ(config.checkpoint_seconds, 86'400);
  EXPECT_EQ(config.data_iterations, 7);
}

TEST_F(ReadConfig, TheMetricsHaveATemplateAndTheJobsName) {
  EXPECT_EQ(read().metrics_template, "");
  set("INLINE_PROF_METRICS", "/m/%h.prom");
  set("SLURM_JOB_ID", "4711");
  EXPECT_EQ(read().metrics_template, "/m/%h.prom");
  EXPECT_EQ(read().run_name, "4711");
  set("TORCHELASTIC_RUN_ID", "none");
  EXPECT_EQ(read().run_name, "4711");
  set("TORCHELASTIC_RUN_ID", "night");
  EXPECT_EQ(read().run_name, "night");
}

TEST_F(ReadConfig, TakesTheOriginalsNamesAndPrefersOurs) {
  set("PROFILING_DIR", "/old");
  set("PROFILING_WARMUP_ITERS", "3");
  set("PROFILING_REPEAT_TIMES_PER_EVENT", "4");
  const Config old = read();
  EXPECT_EQ(old.directory, "/old");
  EXPECT_TRUE(old.directory_is_set);
  EXPECT_EQ(old.warmup, 3);
  EXPECT_EQ(old.repeat, 4);
  set("INLINE_PROF_DIR", "/new");
  set("INLINE_PROF_WARMUP", "30");
  set("INLINE_PROF_REPEAT", "40");
  EXPECT_EQ(read().directory, "/new");
  EXPECT_EQ(read().warmup, 30);
  EXPECT_EQ(read().repeat, 40);
}

TEST_F(ReadConfig, TakesABudgetAsAPercentageOrAsAFraction) {
  set("INLINE_PROF_BUDGET", "0.5%");
  EXPECT_EQ(read().budget_percent, 0.5);
  set("INLINE_PROF_BUDGET", "0.005");
  EXPECT_EQ(read().budget_percent, 0.5);
}

TEST_F(ReadConfig, WatchesWithinAShareAndNotBesideTheEndOfTheProcess) {
  EXPECT_EQ(read().watch_share, 0);
  set("INLINE_PROF_WATCH", "0");
  EXPECT_EQ(read().watch_share, 0);
  set("INLINE_PROF_WATCH", "0.02%");
  EXPECT_DOUBLE_EQ(read().watch_share, 0.0002);
  set("INLINE_PROF_EXIT_WHEN_DONE", "1");
  EXPECT_THAT(complaint(), StartsWith("INLINE_PROF_EXIT_WHEN_DONE=1: expected 0 beside "
                                      "INLINE_PROF_WATCH"));
}

TEST_F(ReadConfig, CountsAnEmptyValueAsUnset) {
  for (const Variable& variable : variables())
    set(variable.name, "");
  const Config config = read();
  EXPECT_EQ(config.warmup, std::nullopt);
  EXPECT_FALSE(config.directory_is_set);
  EXPECT_THAT(config.warnings, IsEmpty());
}

TEST_F(ReadConfig, MeasuresNothingWhereItIsDisabled) {
  set("INLINE_PROF_DISABLE", "1");
  EXPECT_EQ(read_config(), std::nullopt);
  set("INLINE_PROF_DISABLE", "0");
  EXPECT_NE(read_config(), std::nullopt);
}

TEST_F(ReadConfig, RefusesBadValuesAndNamesVariableValueAndWhatIsAllowed) {
  const struct {
    std::string variable;
    const char* allowed;
    std::vector<const char*> values;
  } rows[] = {
      {"INLINE_PROF_RANKS", "all, or ranks such as 0,2,8-15", {"0,x", "8-2", "0,,1", "-1", "0,3-"}},
      {"INLINE_PROF_WARMUP",
       "0 to 1000000000",
       {"10s", "-1", "1000000001", " 10", "99999999999999999999"}},
      {"INLINE_PROF_REPEAT", "1 to 1000000", {"0"}},
      {"INLINE_PROF_ITERATION",
       "auto, macro, optimizer, nvtx:GLOB, kernel:GLOB or period:N (1 to 65536)",
       {"nvtx", "macro:x", "kernel:", "period:", "period:0", "period:65537", "period:9x"}},
      {"INLINE_PROF_POLICY", "in_order, interleaved, adaptive", {"In_Order"}},
      {"INLINE_PROF_SEED", "0 to 18446744073709551615", {"18446744073709551616"}},
      {"INLINE_PROF_EXIT_WHEN_DONE", "0, 1", {"2"}},
      {"INLINE_PROF_OVERHEAD", "0 to 1000000", {"-1"}},
      {"INLINE_PROF_CHECKPOINT", "1 to 86400", {"0"}},
      {"PROFILING_REPEAT_TIMES_PER_EVENT", "1 to 1000000", {"0"}},
      {"PROFILING_WARMUP_AFTER_CUDAGRAPH_REINIT", "0 to 1000000", {"-1"}},
      {"PROFILING_DATA_COLLECTION_ITERS", "0 to 1000000", {"1.5"}},
      {"PROFILING_MODE", "0, 1, 2", {"3"}},
      {"INLINE_PROF_BUDGET", "above 0% to 100%, or above 0 to 1", {"0", "2"}},
      {"INLINE_PROF_WATCH", "0% to 10%, or 0 to 0.1", {"11%", "0.2", "-1%", "yes"}},
      {"INLINE_PROF_FALSE_ALARMS", "above 0 to 1000000", {"0", "2000000"}},
      {"INLINE_PROF_CONTROL",
       "an absolute path; %h %p %r %q{VAR} are replaced",
       {"here", "~/control"}},
      {"INLINE_PROF_TARGET_CI", "above 0, below 1", {"1"}},
      {"INLINE_PROF_TRIGGER", "signal:USR1 or signal:USR2", {"signal:KILL", "file:measure"}},
      {"PROFILING_REPEAT_ITERS", "1 to 1000000000", {"0"}},
      {"PROFILING_RECORD_EVERY_N", "1 to 1000000", {"0"}},
  };
  for (const auto& row : rows) {
    for (const char* value : row.values) {
      test::Environment environment;
      environment.set(row.variable, value);
      EXPECT_EQ(complaint(), row.variable + "=" + value + ": expected " + row.allowed);
    }
  }
}

// Whatever is no value of any variable; the table above has what comes close to one.
TEST_F(ReadConfig, ChecksEveryVariableThatIsNotFreeText) {
  const std::set<std::string_view> free_text{"INLINE_PROF_SCHEDULE",  "INLINE_PROF_DIR",
                                             "INLINE_PROF_OUT",       "INLINE_PROF_METRICS",
                                             "INLINE_PROF_ON_CHANGE", "PROFILING_DIR"};
  for (const Variable& variable : variables()) {
    if (free_text.contains(variable.name)) continue;
    test::Environment environment;
    environment.set(variable.name, "nonsense");
    EXPECT_EQ(complaint(),
              std::string(variable.name) + "=nonsense: expected " + std::string(variable.range));
  }
}

TEST_F(ReadConfig, CutsAnEndlessValueShort) {
  set("INLINE_PROF_WARMUP", std::string(5000, 'x'));
  EXPECT_EQ(complaint(),
            "INLINE_PROF_WARMUP=" + std::string(80, 'x') + ": expected 0 to 1000000000");
}

TEST_F(ReadConfig, RefusesABadValueOfTheOriginalsNameEvenWhereOursIsSet) {
  set("INLINE_PROF_WARMUP", "5");
  set("PROFILING_WARMUP_ITERS", "x");
  EXPECT_EQ(complaint(), "PROFILING_WARMUP_ITERS=x: expected 0 to 1000000000");
}

TEST_F(ReadConfig, ChoosesTheRanksThatMeasure) {
  const struct {
    const char* ranks;
    const char* rank;  // null: none is known, which counts as 0
    bool wanted;
  } rows[] = {{"all", "7", true},  {"0,7", "7", true},     {"0,7", "6", false},
              {"8-15", "8", true}, {"0,8-15", "15", true}, {"8-15", "16", false},
              {"3-3", "3", true},  {"0", nullptr, true},   {"1", nullptr, false}};
  for (const auto& row : rows) {
    test::Environment environment;
    environment.set("INLINE_PROF_RANKS", row.ranks);
    if (row.rank != nullptr) environment.set("RANK", row.rank);
    EXPECT_EQ(read_config().has_value(), row.wanted) << row.ranks;
  }
}

TEST_F(ReadConfig, TakesRankAndSizesFromTheFirstLauncherThatSetOne) {
  set("SLURM_PROCID", "5");
  set("SLURM_NTASKS", "8");
  set("SLURM_LOCALID", "1");
  Config config = read();
  EXPECT_EQ(config.rank, 5);
  EXPECT_EQ(config.world_size, 8);
  EXPECT_EQ(config.local_rank, 1);

  set("PMI_RANK", "4");
  EXPECT_EQ(read().rank, 4);
  EXPECT_EQ(read().world_size, std::nullopt) << "the size of another launcher is not ours";

  set("OMPI_COMM_WORLD_RANK", "3");
  set("OMPI_COMM_WORLD_SIZE", "6");
  EXPECT_EQ(read().rank, 3);
  EXPECT_EQ(read().world_size, 6);

  set("RANK", "2");
  set("WORLD_SIZE", "4");
  set("LOCAL_RANK", "0");
  config = read();
  EXPECT_EQ(config.rank, 2);
  EXPECT_EQ(config.world_size, 4);
  EXPECT_EQ(config.local_rank, 0);
}

TEST_F(ReadConfig, PassesOverARankThatIsNoNumber) {
  set("RANK", "master");
  EXPECT_EQ(read().rank, std::nullopt);
  set("SLURM_PROCID", "5");
  EXPECT_EQ(read().rank, 5);
}

TEST_F(ReadConfig, NotesAnUnknownNameAndGoesOn) {
  set("INLINE_PROF_WARMUPS", "3");
  EXPECT_THAT(read().warnings,
              ElementsAre("INLINE_PROF_WARMUPS: unknown variable; did you mean INLINE_PROF_WARMUP? "
                          "prof-run --help-env lists the known ones"));
}

TEST_F(ReadConfig, LeavesOtherNamesAlone) {
  set("PROFILING_SOMETHING", "1");      // not ours
  set("INLINE_PROFILER", "something");  // neither
  EXPECT_THAT(read().warnings, IsEmpty());
}

TEST_F(ReadConfig, SaysAsMuchAsItIsTold) {
  set("INLINE_PROF_LOG", "error");
  set("INLINE_PROF_NOSUCH", "1");
  testing::internal::CaptureStderr();
  EXPECT_THAT(read().warnings, SizeIs(1)) << "the file still says it";
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Variables, HaveNamesMeaningsAndNoDuplicates) {
  std::set<std::string_view> names;
  for (const Variable& variable : variables()) {
    EXPECT_TRUE(names.insert(variable.name).second) << variable.name;
    EXPECT_STRNE(variable.default_value, "");
    EXPECT_STRNE(variable.range, "");
    EXPECT_STRNE(variable.meaning, "");
  }
  EXPECT_TRUE(names.contains("INLINE_PROF_SCHEDULE"));
  EXPECT_TRUE(names.contains("PROFILING_DIR"));
}

}  // namespace
}  // namespace inline_prof::sys
