// Programs that do not mark their iterations: the injected library finds them in the launches.
#include "launch_recording.hpp"
#include "run_host.hpp"
#include "testing.hpp"

namespace inline_prof::test {
namespace {

constexpr double kKernelUs = 10;

const std::string kModel = R"({"noise": 0, "events": {"pair_bias_us": 1.0, "pair_jitter_us": 0},
                               "rules": [{"name": "*", "duration_us": 10}]})";

HostOptions searching(const Texts& arguments, const Texts& settings,
                      const std::string& model = kModel) {
  return {.arguments = arguments,
          .environment = joined(
              {"SIMGPU_MODEL=model.json", "INLINE_PROF_ITERATION=auto", "INLINE_PROF_OVERHEAD=0",
               "INLINE_PROF_POLICY=in_order"},  // an iteration's first event is measured first
              settings),
          .files = {{"model.json", model}}};
}

// Iterations of a warm-up that does not end, of a program that launches `plain` equal iterations
// and then 40 of fifteen micro-steps and a step each.
std::int64_t iterations_with_micro_steps_behind(int plain) {
  Texts stages{"micro:20:" + std::to_string(plain)};
  for (int i = 0; i < 40; ++i) {
    stages.emplace_back("micro:20:15");
    stages.emplace_back("step:60:1");
  }
  const ProfiledRun run("host_phases",
                        {.arguments = stages, .environment = {"INLINE_PROF_WARMUP=1000000"}});
  const std::string words = "the program ended in the warm-up, after iteration ";
  const std::size_t begin = run.output.find(words);
  EXPECT_NE(begin, std::string::npos) << run.output;
  return begin == std::string::npos ? -1 : std::stoll(run.output.substr(begin + words.size()));
}

TEST(Iterations, AreLookedForUntilThe256thOfALongWarmUp) {
  EXPECT_LT(iterations_with_micro_steps_behind(240), 40);
  EXPECT_GT(iterations_with_micro_steps_behind(260), 260 + 40 * 15 - 16);
}

// Calls of the kernels from k`first` up to k`last`, in a recording's words; each second one is
// followed by `after_even`.
std::string launches(int first, int last, const std::string& after_even = "") {
  std::string text;
  for (int kernel = first; kernel <= last; ++kernel)
    text += "k" + std::to_string(kernel) + (kernel % 2 == 0 ? after_even : "") + " ";
  return text;
}

// The `calls` before it come again, `times` in all.
std::string again(int calls, int times) {
  return "<" + std::to_string(calls) + ":" + std::to_string(calls * times) + "\n";
}

// Makes the calls of a recording, whose kernels are k0_, k1_ and so on, and `more_kernels`.
ProfiledRun made_calls(int kernels, const std::string& calls, const Texts& settings = {},
                       const Texts& arguments = {}, const std::string& more_kernels = "") {
  std::string recording;
  for (int kernel = 0; kernel < kernels; ++kernel)
    recording.append("kernel k").append(std::to_string(kernel)).append("_\n");
  recording += more_kernels + "calls\n" + calls;
  return ProfiledRun("host_recording", {.arguments = joined({"recording.txt"}, arguments),
                                        .environment = joined({"INLINE_PROF_OVERHEAD=0"}, settings),
                                        .files = {{"recording.txt", recording}}});
}

TEST(Iterations, HaveTheLengthThatIsGiven) {
  const ProfiledRun run = made_calls(60, launches(0, 59) + again(60, 60),
                                     {"INLINE_PROF_ITERATION=period:120", "INLINE_PROF_WARMUP=3",
                                      "INLINE_PROF_REPEAT=1", "INLINE_PROF_POLICY=in_order"});
  const json& profiler = run.profile["profiler"];
  EXPECT_EQ(profiler["iteration_source"], "period:120");
  EXPECT_EQ(profiler["iteration_confidence"], 1);
  EXPECT_EQ(profiler["iteration_launches"], 120);
  EXPECT_EQ(run.profile["events"].size(), 120U);
}

// Their default streams have one handle.
TEST(Iterations, AreThoseOfTheBusierOfTwoDevices) {
  const ProfiledRun run =
      made_calls(60, launches(0, 59) + "@1 " + launches(0, 9) + "@0 s " + again(73, 60),
                 {"SIMGPU_DEVICES=2", "INLINE_PROF_WARMUP=3", "INLINE_PROF_REPEAT=1"},
                 {"--streams-are-devices"});
  EXPECT_EQ(run.profile["profiler"]["iteration_launches"], 60) << run.output;
  EXPECT_EQ(run.profile["devices"].size(), 2U);
}

// Thirty iterations of ten kernels, each followed by a wait; then the same kernels in another
// order, before the warm-up is over.
TEST(Iterations, ThatCameNoMoreInTheWarmUpLeaveEveryKernelListed) {
  std::string calls = launches(0, 9) + "s " + again(11, 29);
  for (int kernel = 9; kernel >= 0; --kernel)
    calls.append("k" + std::to_string(kernel) + " <1:4 ");
  const ProfiledRun run =
      made_calls(10, calls, {"INLINE_PROF_ITERATION=auto", "INLINE_PROF_WARMUP=1000"});
  const json& profile = run.profile;
  EXPECT_EQ(profile["profiler"]["iteration_source"], "none");
  EXPECT_FALSE(profile["profiler"].contains("iteration_launches"));
  EXPECT_EQ(profile["events"].size(), 10) << profile["warnings"];
  EXPECT_EQ(profile["complete"], false);
  EXPECT_THAT(run.output, HasSubstr("it ended before anything was timed"));
}

// A program plays before it trains: the warm-up of what was guessed, or its first samples, are
// forgotten once it says itself where iterations begin.
TEST(Iterations, ThatWereGuessedGiveWayToThoseThatAreMarked) {
  for (const char* const plays : {"play:6:16", "play:6:60"}) {
    const ProfiledRun run("host_phases", {.arguments = {"--times=30", plays, "update:20:4:marked"},
                                          .environment = {"INLINE_PROF_REPEAT=1"}});
    const json& profiler = run.profile["profiler"];
    EXPECT_EQ(profiler["iteration_source"], "macro") << plays << run.output;
    EXPECT_EQ(profiler["iteration_confidence"], 1);
    EXPECT_FALSE(profiler.contains("iteration_launches"));
    ASSERT_EQ(run.profile["phases"].size(), 1U) << run.output;
    EXPECT_EQ(run.profile["phases"][0]["kernel_launches"], 22);
    EXPECT_EQ(run.profile["phases"][0]["iteration_source"], "macro");
  }
}

// The 32 micro-steps before each update are measured as iterations until updates have come some
// times: their samples are thrown away.
TEST(Iterations, AreLearntAnewWhereMicroStepsWereMeasured) {
  const std::string micro_steps = "h " + launches(0, 19) + again(21, 31);
  const ProfiledRun run = made_calls(28, micro_steps + launches(20, 27) + again(32 * 21 + 8, 60),
                                     {"INLINE_PROF_REPEAT=1"});
  const json& profiler = run.profile["profiler"];
  EXPECT_EQ(profiler["iteration_launches"], 32 * 20 + 8) << run.output;
  EXPECT_GT(profiler["iteration_confidence"], 0.5);
  ASSERT_EQ(run.profile["phases"].size(), 1U) << run.output;
  EXPECT_EQ(run.profile["phases"][0]["kernel_launches"], 32 * 20 + 8);
  EXPECT_EQ(run.profile["events"].size(), 32U * 21 + 8);  // a copy in each micro-step
  EXPECT_GT(run.profile["iter_time_ms"].size(), 20U);
}

// Megatron's step waits 40 times and more.
TEST(Iterations, MayWaitForTheDeviceOften) {
  const ProfiledRun run =
      made_calls(112, launches(0, 111, " s") + again(168, 500), {"INLINE_PROF_REPEAT=3"});
  EXPECT_EQ(run.profile["events"].size(), 112U);
  EXPECT_EQ(run.profile["phases"].size(), 1U) << run.output;
  EXPECT_EQ(run.profile["complete"], true) << run.output;
}

// One to four micro-steps come before each update.
TEST(Iterations, EndWithTheOptimizersStepBehindAnyNumberOfMicroSteps) {
  std::string calls;
  std::uint32_t random = 1;
  for (int step = 0; step < 400; ++step) {
    random = random * 1664525U + 1013904223U;
    for (std::uint32_t k = 0; k <= random >> 30U; ++k)
      calls += "h " + launches(0, 59);
    calls += "k60 k60 k60 ";
  }
  const ProfiledRun run = made_calls(60, calls, {}, {}, "kernel multi_tensor_apply\n");
  EXPECT_EQ(run.profile["profiler"]["iteration_source"], "auto") << run.output;
  EXPECT_EQ(run.profile["phases"].size(), 1U) << run.output;
  EXPECT_GT(run.profile["phases"][0]["iterations"], 300);
}

// Six batches of an evaluation come behind every 25th iteration, in the warm-up, too, and begin as
// iterations do.
TEST(Iterations, AreNotTheBatchesOfAnEvaluation) {
  std::string calls = launches(0, 29) + "s " + again(31, 25);
  for (int batch = 0; batch < 6; ++batch)
    calls += launches(0, 9) + "s ";
  const ProfiledRun run =
      made_calls(30, calls + again(25 * 31 + 6 * 11, 20), {"INLINE_PROF_REPEAT=4"});
  const json& phase = run.profile["phases"][0];
  EXPECT_EQ(run.profile["profiler"]["iteration_launches"], 30) << run.output;
  auto times_ms = run.profile["iter_time_ms"].get<std::vector<double>>();
  EXPECT_EQ(phase["kernel_launches"], 30);
  ASSERT_GT(times_ms.size(), 80U);
  const auto [least, most] = std::ranges::minmax(times_ms);
  EXPECT_LT(most, 1.5 * least);
  const auto passes = phase["stretches"][0][1].get<int>() - phase["iterations"].get<int>();
  EXPECT_GE(passes, 6);
  EXPECT_THAT(run.profile["warnings"].dump(),
              HasSubstr(std::to_string(passes) + " passes that began"));
}

// A step that was captured whole; the mean of the losses is read behind every tenth.
TEST(Iterations, AreGraphsThatUpdateParametersWhateverIsReadBetween) {
  const std::string calls = "h g0 " + again(2, 10) + "k0 s " + again(22, 20);
  for (const bool updates : {true, false}) {
    const ProfiledRun run = made_calls(1, calls, {"INLINE_PROF_REPEAT=2"},
                                       {updates ? "--in-graphs=1" : "--in-graphs=0"},
                                       "kernel multi_tensor_apply\ngraph 100\n");
    EXPECT_EQ(run.profile["profiler"]["iteration_launches"], 100) << run.output;
    EXPECT_EQ(run.profile["profiler"]["iteration_confidence"] > 0.5, updates) << run.output;
  }
}

// Two launches behind every eighth time may be the update that eight micro-steps are for.
TEST(Iterations, OfWhichNothingTellsThatTheyAreNoMicroStepsMakeNoCompleteRun) {
  std::string calls;
  for (int micro_step = 0; micro_step < 8; ++micro_step)
    calls += "h " + launches(0, 99);
  const ProfiledRun run =
      made_calls(102, calls + "k100 k101 s " + again(811, 100), {"INLINE_PROF_REPEAT=2"});
  EXPECT_EQ(run.profile["profiler"]["iteration_launches"], 100) << run.output;
  EXPECT_LT(run.profile["profiler"]["iteration_confidence"], 0.5);
  EXPECT_EQ(run.profile["complete"], false);
  EXPECT_THAT(run.output, HasSubstr("confidence below 0.5"));
}

// 80 micro-steps before an update that launches three of their kernels in a loop: four times are
// too few to find that.
TEST(Iterations, ThatStoppedRepeatingMakeNoCompleteRun) {
  const std::string micro_steps = "h " + launches(0, 179) + again(181, 79);
  const std::string update = "k4 k5 k6 " + again(3, 39);
  const ProfiledRun run =
      made_calls(180, micro_steps + update + again(80 * 181 + 40 * 3, 3), {"INLINE_PROF_REPEAT=2"});
  EXPECT_EQ(run.profile["profiler"]["iteration_launches"], 180) << run.output;
  EXPECT_LT(run.profile["profiler"]["iteration_confidence"], 0.5);
  EXPECT_EQ(run.profile["complete"], false);
  EXPECT_THAT(run.output, HasSubstr("doubtful: the launches stopped repeating"));
}

// A loop of the set-up that repeats like iterations, then iterations without a wait.  That these
// are others is looked at once a second, so the run lasts three.
TEST(Iterations, OfASetUpAreLeftForThoseBehindIt) {
  const ProfiledRun run = made_calls(
      409, launches(0, 20) + "s " + again(22, 250) + launches(21, 408) + again(388, 1500), {},
      {"--pause=2000"});
  const json& phases = run.profile["phases"];
  ASSERT_EQ(phases.size(), 2U) << run.output;
  EXPECT_EQ(phases[0]["kernel_launches"], 21);
  EXPECT_EQ(phases[1]["kernel_launches"], 388);
  EXPECT_GT(phases[1]["iterations"], 100);
}

// A loop of 20 kernels whose first and last come in each iteration of the program behind it, too.
// It ends soon after its warm-up.
TEST(Iterations, ThatEndSoonAreSearchedForAnew) {
  const ProfiledRun run = made_calls(300, launches(0, 19) + "s " + again(21, 35) + "k0 " +
                                              launches(20, 299) + "k19 s " + again(283, 600));
  EXPECT_EQ(run.profile["profiler"]["iteration_launches"], 282) << run.output;
  ASSERT_EQ(run.profile["phases"].size(), 2U) << run.output;
  EXPECT_EQ(run.profile["phases"][1]["kernel_launches"], 282);
}

// --- recordings of real programs, made again call by call

const Texts kOneSample{"INLINE_PROF_WARMUP=3", "INLINE_PROF_REPEAT=1"};

std::string recording_file(const std::string& name) {
  return INLINE_PROF_TEST_DATA "/recordings/" + name + ".txt";
}

class RecordedIterationsOf : public TestWithParam<const char*> {};

// The first event of an iteration begins with it.
TEST_P(RecordedIterationsOf, AreFoundWhereTheLoopsStepsBegin) {
  const std::string file = recording_file(GetParam());
  const ProfiledRun run("host_recording", searching({file}, kOneSample));
  EXPECT_THAT(run.output, HasSubstr("host ok\n"));
  const json& profile = run.profile;
  const auto recording = schedule::test::read_recording(file);
  const auto sequence = schedule::test::sequence_of(recording);
  const auto& starts = sequence.starts();
  ASSERT_GT(starts.size(), 30U);
  EXPECT_EQ(profile["profiler"]["iteration_source"], "auto");
  EXPECT_EQ(profile["profiler"]["iteration_launches"], starts[30] - starts[29]);
  const std::uint32_t symbol = sequence.calls()[starts[30]].symbol;
  const std::string first = recording.kernels.at(symbol) + "_" + std::to_string(symbol);
  int samples = 0;
  for (const json& event : profile["events"]) {
    if (event["kernel_name"] != first || event["met_times_within_this_stream"] != 0) continue;
    for (const json& offset_ms : event["iter_start_to_event_start_times_ms"]) {
      EXPECT_LT(offset_ms.get<double>() * 1e3, 0.6 * kKernelUs);
      ++samples;
    }
  }
  EXPECT_GE(samples, 1);
}

INSTANTIATE_TEST_SUITE_P(AProgram, RecordedIterationsOf,
                         Values("adversaries", "dlrm_adagrad", "evaluated_every_12",
                                "frameworks/megatron_pipeline_4_first",
                                "frameworks/megatron_pipeline_4_last", "frameworks/replicated_2",
                                "fresh_1/two_streams", "gpt_accumulated_2_deep", "gpt_fused",
                                "lightning", "resnet18", "vit", "warmed_accumulation_16"),
                         [](const auto& name) {
                           return std::filesystem::path(name.param).filename().string();
                         });

TEST(RecordedIterations, AreNotFoundWhereThereAreNone) {
  const ProfiledRun run("host_recording", searching({recording_file("none_requests_8")}, kOneSample,
                                                    R"({"noise": 0})"));
  EXPECT_EQ(run.profile["profiler"]["iteration_source"], "none");
}

// Its kernels take 10 us each, one after the other; few of the last ones are sampled.
TEST(RecordedIterations, AreNotFoundButTheTimeIsThatOfTheWholeRun) {
  const ProfiledRun run(
      "host_recording",
      {.arguments = {recording_file("none_notebook_1")},
       .environment = {"SIMGPU_MODEL=model.json", "INLINE_PROF_ITERATION=auto"},
       .files = {{"model.json", R"({"noise": 0, "rules": [{"name": "*", "duration_us": 10}]})"}}});
  double kernels = 0;
  for (const json& event : run.profile["events"])
    if (event.contains("kernel_name")) kernels += event["calls"].get<double>();
  EXPECT_NEAR(run.profile["iter_time_ms"][0].get<double>(), kernels * 0.01, kernels * 0.001);
  EXPECT_EQ(run.profile["complete"], false);
}

}  // namespace
}  // namespace inline_prof::test
