// Programs whose iterations do not always make the same launches: each phase has its events.
#include "run_host.hpp"
#include "testing.hpp"

namespace inline_prof::test {
namespace {

json profile_of(const Texts& arguments, const std::string& repeat, const Texts& settings = {}) {
  const ProfiledRun run(
      "host_phases",
      {.arguments = arguments,
       .environment = joined(
           {"SIMGPU_MODEL=model.json", "INLINE_PROF_REPEAT=" + repeat, "INLINE_PROF_OVERHEAD=0"},
           settings),
       .files = {{"model.json",
                  R"({"noise": 0, "events": {"pair_bias_us": 1.0, "pair_jitter_us": 0},
                      "rules": [{"name": "*", "duration_us": 10}]})"}}});
  EXPECT_THAT(run.output, HasSubstr("host ok\n"));
  return run.profile;
}

std::size_t samples_of(const json& profile, std::size_t phase) {
  std::size_t samples = 0;
  for (const json& event : profile["events"])
    if (event["phase"] == phase) samples += event["measured_times_ms"].size();
  return samples;
}

std::set<std::string> names_of(const json& profile, std::size_t phase) {
  std::set<std::string> names;
  for (const json& event : profile["events"])
    if (event["phase"] == phase) names.insert(event["event_name"]);
  return names;
}

// No sample is of an iteration outside of its phase's stretches, and each is of its kernel.
void expect_samples_in_their_phase(const json& profile) {
  for (const json& event : profile["events"]) {
    const json& stretches = profile["phases"][event["phase"].get<std::size_t>()]["stretches"];
    for (const json& iteration : event["iterations"]) {
      EXPECT_TRUE(std::ranges::any_of(
          stretches,
          [&](const json& stretch) { return stretch[0] <= iteration && iteration <= stretch[1]; }))
          << event["event_name"] << " in iteration " << iteration;
    }
  }
}

INLINE_PROF_MARKED_AND_FOUND(MarkedOrFound);

TEST_P(MarkedOrFound, KernelsThatChangeAreMeasuredAgain) {
  const json profile = profile_of(program({"a:40:300", "b:40:700"}), "10");
  ASSERT_EQ(profile["phases"].size(), 2U);
  const json& first = profile["phases"][0];
  const json& second = profile["phases"][1];
  EXPECT_EQ(first["stretches"][0][0], 1);
  EXPECT_LE(first["stretches"][0][1], 300);
  EXPECT_EQ(second["reason"], "other launches");
  EXPECT_EQ(second["kernel_launches"], 42);
  EXPECT_EQ(names_of(profile, 1).count("b_7_"), 1U);
  EXPECT_EQ(names_of(profile, 1).count("a_7_"), 0U);
  EXPECT_EQ(samples_of(profile, 1), 420U);
  EXPECT_GT(samples_of(profile, 0), 100U);
  EXPECT_EQ(profile["complete"], true);
  expect_samples_in_their_phase(profile);
}

TEST_P(MarkedOrFound, TrainingAndEvaluationGoOnWhereTheyStopped) {
  const json profile = profile_of(program({"--times=7", "train:40:200", "eval:30:100"}), "10");
  ASSERT_EQ(profile["phases"].size(), 2U);
  EXPECT_GE(profile["phases"][0]["stretches"].size(), 3U);
  EXPECT_GE(profile["phases"][1]["stretches"].size(), 3U);
  EXPECT_EQ(samples_of(profile, 0), 420U);
  EXPECT_EQ(samples_of(profile, 1), 320U);
  EXPECT_EQ(profile["complete"], true);
  expect_samples_in_their_phase(profile);
}

TEST(Phases, PrefillAndDecodeAreTwo) {
  const json profile = profile_of({"--marks", "--times=12", "prefill:10:24", "decode:12:60"}, "5",
                                  {"INLINE_PROF_POLICY=in_order"});
  ASSERT_EQ(profile["phases"].size(), 2U);
  EXPECT_EQ(samples_of(profile, 0), 60U);
  EXPECT_EQ(samples_of(profile, 1), 70U);
  expect_samples_in_their_phase(profile);
}

// Each 16th iteration is another one; each 32nd is checked.
TEST(Phases, AnEvaluationNowAndThenIsNoPartOfAnIterationThatAnOptimizersStepEnds) {
  Texts program{"--marks", "--times=60", "decode:12:6", "evaluation:10:1"};
  EXPECT_EQ(names_of(profile_of(program, "4"), 0).count("evaluation_7_"), 1U)
      << "of any other mark";
  program.insert(program.begin(), "--asks");
  const auto names = names_of(profile_of(program, "4"), 0);
  EXPECT_EQ(names.count("evaluation_7_"), 0U);
  EXPECT_EQ(names.count("decode_7_"), 1U);
}

TEST(Phases, AreNotMadeOfSingleIterationsWhichIsSaid) {
  const json profile = profile_of({"--marks", "--times=75", "decode:12:12", "prefill:10:1"}, "60");
  ASSERT_EQ(profile["phases"].size(), 1U);
  EXPECT_EQ(names_of(profile, 0).count("prefill_7_"), 0U);
  EXPECT_THAT(profile["warnings"].dump(),
              HasSubstr("iterations that were looked at launched something else"));
}

// The writer's thread builds the graph's clones: the program goes on until they are measured.
TEST_P(MarkedOrFound, AnEagerWarmUpComesBeforeAGraph) {
  const std::string eager = GetParam() ? "e:40:12" : "e:40:120";
  const json profile = profile_of(program({eager, "e:40:40000:graph"}), "3");
  ASSERT_EQ(profile["phases"].size(), 2U);
  const json& graph = profile["phases"][1];
  EXPECT_EQ(graph["graph_launches"], 1);
  EXPECT_EQ(graph["graph_kernels"], 40);
  EXPECT_EQ(graph["kernel_launches"], 0);
  // Captured while something else was measured.
  int in_layers = 0;
  bool has_label = false;
  for (const json& event : profile["events"]) {
    if (event["phase"] != 1) continue;
    EXPECT_EQ(event["flags"], json::array({"graph_node"}));
    if (event["layer_name"].get<std::string>().starts_with("block")) ++in_layers;
    has_label = has_label || event["event_name"] == "loss";
  }
  EXPECT_EQ(in_layers, 38);
  EXPECT_TRUE(has_label);
  EXPECT_GT(samples_of(profile, 1), 0U);
  expect_samples_in_their_phase(profile);
}

TEST(Phases, ABatchThatGrowsIsAPhaseForEachSize) {
  const json profile =
      profile_of({"--marks", "b:12:200", "b:12:200:grid=32", "b:12:900:grid=64"}, "50");
  ASSERT_EQ(profile["phases"].size(), 3U);
  for (const json& event : profile["events"]) {
    const std::vector<int> grids{16, 32, 64};
    EXPECT_EQ(event["grid"][0], grids[event["phase"].get<std::size_t>()]);
  }
  EXPECT_EQ(profile["phases"][1]["reason"], "other grids");
  EXPECT_EQ(samples_of(profile, 2), 700U);
  expect_samples_in_their_phase(profile);
}

TEST(Phases, EndWithinABoundWhereEverythingChangesAllTheTime) {
  const json profile = profile_of({"--marks", "r:20:3000:random"}, "10");
  EXPECT_EQ(profile["phases"].size(), 8U);
  EXPECT_EQ(profile["complete"], false);
  EXPECT_THAT(profile["warnings"].dump(), HasSubstr("there are more than 8 phases"));
  EXPECT_LE(profile["profiler"]["warmup_iterations"], 10);
}

// The mark behind the last iteration may begin the warm-up again, and no launch comes.
TEST(Phases, LeaveASampleWhereverTheProgramEnds) {
  for (int more = 4; more < 13; ++more) {
    const json profile =
        profile_of({"--marks", "a:4:60", "b:4:" + std::to_string(more), "none:0:1:empty"}, "50");
    ASSERT_TRUE(profile.contains("phases")) << more;
    EXPECT_GT(samples_of(profile, 0), 0U) << more;
  }
}

// So JAX ends: it frees what it has, and waits each time.
TEST(Phases, AreTheProgramsLastWhereItWaitsOftenAndEnds) {
  std::string script = "context 0 primary\nmodule 0 m0 module\nstream 2\nloop 300\n";
  for (const char* launch : {"0 0", "0 1", "0 2", "0 3", "0 1", "0 2", "0 0", "0 3"})
    script += std::string("launch ") + launch + " 2 1\n";
  script += "sync\nend\n";
  for (int wait = 0; wait < 100; ++wait)
    script += "sync\n";
  const ProfiledRun run("host_script",
                        {.arguments = {"script"}, .files = {{"script", std::move(script)}}});
  EXPECT_THAT(run.profile["warnings"].dump(), HasSubstr("the program launched nothing after"));
  EXPECT_THAT(run.profile["warnings"].dump(), Not(HasSubstr("were looked for")));
}

// Wherever the turns begin: those that are looked at are not all of one kind.
TEST(Phases, AreNotMissedWhereTheyComeInTurnsOfFour) {
  for (int first = 40; first < 44; ++first) {
    Texts program{"--marks", "a:28:0", "a:20:" + std::to_string(first)};
    for (int turn = 0; turn < 200; ++turn)
      program.insert(program.end(), {"a:20:3", "a:28:1"});
    EXPECT_THAT(profile_of(program, "50")["warnings"].dump(),
                HasSubstr("iterations that were looked at launched something else"))
        << first;
  }
}

TEST(Phases, AreNotLookedForWhereTheUserSaysSo) {
  const json profile =
      profile_of({"--marks", "a:12:200", "b:12:200"}, "10", {"INLINE_PROF_PHASES=0"});
  ASSERT_EQ(profile["phases"].size(), 1U);
  EXPECT_EQ(names_of(profile, 0).count("b_7_"), 0U);
  EXPECT_EQ(samples_of(profile, 0), 140U);
}

// The graph is replayed in the first warm-up alone; the program ends in the first phase, or before.
TEST(Phases, AreNotCompleteWhereKernelsInAGraphHadNoTurn) {
  std::string body = "iteration\n!3 replay 0 2\n";
  for (int turn = 0; turn < 20; ++turn)
    body += "?20+" + std::to_string(turn) + (turn < 10 ? " launch 0 0 2 4\n" : " launch 0 1 2 4\n");
  for (const char* turns : {"70", "410"}) {
    const ProfiledRun run(
        "host_script",
        {.arguments = {"script"},
         .environment = {"INLINE_PROF_WARMUP=4", "INLINE_PROF_REPEAT=3", "INLINE_PROF_OVERHEAD=0",
                         "INLINE_PROF_ITERATION=macro"},
         .files = {
             {"script", "context 0 primary\nmodule 0 m0 module\nstream 2\ngraph 0 0 2\nloop " +
                            std::string(turns) + "\n" + body + "sync\nend\n"}}});
    for (const json& event : run.profile["events"])
      EXPECT_EQ(event["measured_times_ms"].empty(), !event["flags"].empty()) << turns << event;
    EXPECT_EQ(run.profile["complete"], false) << turns;
  }
}

TEST(Phases, AreOneWhereNothingChanges) {
  const json profile = profile_of({"--marks", "a:12:400"}, "20");
  ASSERT_EQ(profile["phases"].size(), 1U);
  EXPECT_EQ(profile["phases"][0]["stretches"].size(), 1U);
  EXPECT_EQ(profile["phases"][0]["measured"], true);
  EXPECT_FALSE(profile["phases"][0].contains("iter_time_ms"));
  EXPECT_EQ(profile["warnings"], json::array());
  EXPECT_EQ(profile["complete"], true);
}

}  // namespace
}  // namespace inline_prof::test
