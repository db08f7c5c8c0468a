// Runs that begin, stop and end at other times than the program: signals, triggers, and the
// measurement of the overhead.
#include "run_host.hpp"
#include "testing.hpp"

namespace inline_prof::test {
namespace {

constexpr int kKilledByTerm = 128 + 15;

std::vector<std::int64_t> measured_iterations(const json& profile) {
  std::vector<std::int64_t> iterations;
  for (const json& event : profile["events"]) {
    for (const json& iteration : event["iterations"])
      iterations.push_back(iteration.get<std::int64_t>());
  }
  std::sort(iterations.begin(), iterations.end());
  return iterations;
}

TEST(AProgramThatIsTerminated, DiesOfItsSignalAndLeavesItsSamples) {
  HostOptions options{.arguments = {"--iterations=80", "--term-at=60"}};
  const Workplace place;
  EXPECT_EQ(run_host(place, "host_training", options).exit_status, kKilledByTerm);
  const json profile = place.json();
  EXPECT_EQ(profile["complete"], false);
  EXPECT_EQ(measured_iterations(profile).size(), 50U);  // 11 to 60
  EXPECT_THAT(profile["warnings"].dump(), HasSubstr("the program ended at iteration 60 of 160"));
  options.with_library = false;
  EXPECT_EQ(run_host("host_training", options).exit_status, kKilledByTerm);
}

TEST(AProgramThatIsTerminated, InItsWarmUpLeavesWhatItHasMet) {
  const Workplace place;
  const HostRun run =
      run_host(place, "host_training", {.arguments = {"--iterations=80", "--term-at=5"}});
  EXPECT_EQ(run.exit_status, kKilledByTerm) << run.output;
  EXPECT_THAT(run.output, HasSubstr("the program ended in the warm-up, after iteration 5 of 10"));
  EXPECT_EQ(place.json()["complete"], false);
  EXPECT_EQ(place.json()["events"].size(), 3U);
}

TEST(TheLastLine, NamesTheFileAndWhatToDoNext) {
  const Workplace place;
  const std::string file = place.path("prof");
  const HostOptions options{.arguments = {"--iterations=200"}};
  EXPECT_EQ(run_host(place, "host_training", options).wrote,
            file + ".json; next: prof-analyze " + file + ".json");
  EXPECT_EQ(run_host(place, "host_training", options).wrote,
            file + ".1.json, " + file + ".json exists; next: prof-analyze " + file + ".1.json");
}

TEST(ATrigger, OfASignalStartsAndStopsMeasuring) {
  const ProfiledRun run(
      "host_training",
      {.arguments = {"--iterations=100", "--usr1-at=30", "--usr1-again-at=60"},
       .environment = {"INLINE_PROF_TRIGGER=signal:USR1", "INLINE_PROF_WARMUP=4"}});
  EXPECT_EQ(run.profile["complete"], false);
  // 30 iterations between the signals: four of warm-up, 26 measured.
  const auto iterations = measured_iterations(run.profile);
  ASSERT_EQ(iterations.size(), 26U);
  EXPECT_EQ(iterations.front(), 5);
  EXPECT_EQ(iterations.back(), 30);
}

TEST(ATrigger, ThatNeverComesCostsNothingAndWritesNothing) {
  const Workplace place;
  const HostRun run = run_host(
      place, "host_training",
      {.arguments = {"--iterations=300"}, .environment = {"INLINE_PROF_TRIGGER=signal:USR1"}});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  EXPECT_EQ(run.output, "host ok, 1500 launches\n");
  EXPECT_THAT(place.names(), IsEmpty());
}

// Pairs in graphs are of no interest without graphs, and a program that ends destroys its streams,
// too.
TEST(TheRecord, BlamesNothingThatDidNotHappen) {
  constexpr const char* no_pair = "graph: no pair could be read";
  const std::string begin = "context 0 primary\nmodule 0 m0 module\nstream 2\ngraph 0 0 2\nloop ";
  const std::string step = "\niteration\nlaunch 0 0 2 1\n";
  const auto run_of = [](const std::string& script, const Texts& environment) {
    return ProfiledRun(
        "host_script",
        {.arguments = {"script"},
         .environment = joined(environment, {"INLINE_PROF_WARMUP=3", "INLINE_PROF_REPEAT=9"}),
         .files = {{"script", script}}});
  };
  const Texts failing{"SIMGPU_FAIL=cuGraphLaunch:2:count=1"};  // the calibration's
  EXPECT_THAT(run_of(begin + "100" + step + "sync\nend\n", failing).profile["warnings"], IsEmpty());
  EXPECT_THAT(
      run_of(begin + "100" + step + "replay 0 2\nsync\nend\n", failing).profile["warnings"].dump(),
      HasSubstr(no_pair));
  const ProfiledRun ended = run_of(begin + "8" + step + "sync\nend\nunstream 2\n", {});
  EXPECT_EQ(ended.profile["events"][0]["reason"],
            "4 of 9 samples are missing: the program ended first");
}

TEST(TheOverheadMeasurement, FindsWhatThePairsCost) {
  // Five kernels of 10 us each and the origin, 55 us, and a pair in every armed iteration, each of
  // whose two records takes 5 us.
  const ProfiledRun run(
      "host_training",
      {.arguments = {"--iterations=2000"},
       .environment = {"SIMGPU_MODEL=model.json", "INLINE_PROF_WARMUP=3", "INLINE_PROF_REPEAT=5"},
       .files = {{"model.json", R"({"noise": 0.01, "events": {"pair_bias_us": 5.0},
                                    "rules": [{"name": "*", "duration_us": 10}]})"}}});
  EXPECT_EQ(run.profile["complete"], true);
  // The overhead measurement adds no samples.
  EXPECT_EQ(measured_iterations(run.profile).size(), 15U);
  const json& overhead = run.profile["overhead"];
  EXPECT_GE(overhead["unarmed_iterations"], 64);
  EXPECT_GE(overhead["armed_iterations"], 64);
  EXPECT_THAT(overhead["method"].get<std::string>(), HasSubstr("ABBA"));
  ASSERT_TRUE(overhead["slowdown_percent"].is_number()) << overhead;
  EXPECT_NEAR(overhead["slowdown_percent"], 100 * 10 / 55.0, 0.5) << overhead;
  EXPECT_LT(overhead["slowdown_percent_ci95"][0], 100 * 10 / 55.0) << overhead;
  EXPECT_GT(overhead["slowdown_percent_ci95"][1], 17.8) << overhead;
}

TEST(TheOverheadMeasurement, SaysHowManyIterationsItLacks) {
  const ProfiledRun run("host_training",
                        {.arguments = {"--iterations=60"},
                         .environment = {"INLINE_PROF_WARMUP=3", "INLINE_PROF_REPEAT=5"}});
  EXPECT_EQ(run.profile["complete"], true);  // every sample is there
  EXPECT_TRUE(run.profile["overhead"]["slowdown_percent"].is_null());
  EXPECT_GT(run.profile["overhead"]["iterations_needed"], 0);
}

}  // namespace
}  // namespace inline_prof::test
