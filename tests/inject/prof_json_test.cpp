// prof.json of a small training program: what is in it, when it is written, and under which name.
#include "run_host.hpp"
#include "testing.hpp"

namespace inline_prof::test {
namespace {

// Shorter than the defaults, so that a schedule ends soon.
const Texts kShortTraining{"INLINE_PROF_WARMUP=3", "INLINE_PROF_REPEAT=5",
                           "INLINE_PROF_OVERHEAD=0"};

HostOptions short_training(const Texts& arguments, const Texts& more_environment = {}) {
  return {.arguments = arguments, .environment = joined(kShortTraining, more_environment)};
}

ProfiledRun train(const Texts& arguments, const Texts& more_environment = {}) {
  return ProfiledRun("host_training", short_training(arguments, more_environment));
}

void expect_five_samples_of_each(const json& profile, std::size_t events) {
  EXPECT_EQ(profile["complete"], true);
  ASSERT_EQ(profile["events"].size(), events) << profile["events"].dump(1);
  expect_samples_of_each(profile, 5U);
}

TEST(ProfJson, HoldsEveryScheduledSampleOfEveryEvent) {
  const ProfiledRun run = train({"--iterations=60"});
  const json& profile = run.profile;
  EXPECT_EQ(run.output, "host ok, 300 launches\n");  // a healthy profiler says nothing
  EXPECT_THAT(run.place.names(), ElementsAre("prof.json"));

  EXPECT_EQ(profile["schema"], "inline_prof/1");
  EXPECT_EQ(profile["profiler"]["iteration_source"], "macro");
  // step, step.gemm, and kernel_c, which no label encloses.
  expect_five_samples_of_each(profile, 3);
  std::set<std::int64_t> iterations;
  for (const json& event : profile["events"]) {
    for (const char* key : {"iter_start_to_event_start_times_ms", "iterations", "tight"})
      EXPECT_EQ(event[key].size(), 5U) << key;
    for (const json& iteration : event["iterations"])
      iterations.insert(iteration.get<std::int64_t>());
  }
  // One event an iteration, from the first after the warm-up on.
  EXPECT_EQ(iterations.size(), 15U);
  EXPECT_EQ(*iterations.begin(), 4);
  EXPECT_EQ(*iterations.rbegin(), 18);
  EXPECT_EQ(profile["iter_time_ms"].size(), 15U);
  EXPECT_EQ(profile["overhead"]["armed_iterations"], 15);

  const json& gemm = event_named(profile, "step.gemm");
  EXPECT_EQ(gemm["layer_name"], "Top");
  EXPECT_THAT(gemm["kernel_names"], ElementsAre("kernel_b"));
  EXPECT_EQ(gemm["op"], json::parse(R"({"kind": "gemm", "m": 128, "n": 64, "k": 32,
                                        "a_type": "f16", "source": "PROFILE_OP"})"));
  const json& region = event_named(profile, "step");
  EXPECT_LT(region["start_index"], gemm["start_index"]);
  EXPECT_GT(region["end_index"], gemm["end_index"]);
  EXPECT_THAT(region["kernel_names"], ElementsAre("kernel_a"));
  const json& kernel = event_named(profile, "kernel_c");
  EXPECT_EQ(kernel["grid"], json::parse("[16, 1, 1]"));
  EXPECT_EQ(kernel["block"], json::parse("[128, 1, 1]"));
}

TEST(ProfJson, SaysWhichSamplesWereTight) {
  // An application that runs ahead queues its launches behind others; one that lags finds the GPU
  // idle.
  for (const auto& [speed, expected] : {std::pair("0.05", true), std::pair("20", false)}) {
    const ProfiledRun run = train({"--iterations=60", "--no-labels", "--repeats=20"},
                                  {std::string("SIMGPU_HOST_SPEED=") + speed});
    for (const json& tight : event_named(run.profile, "kernel_c")["tight"])
      EXPECT_EQ(tight, expected);
  }
}

TEST(ProfJson, CountsOccurrencesWithinAnIterationAndStream) {
  const ProfiledRun run = train({"--iterations=120", "--no-labels", "--streams=2"});
  // kernel_a three times, kernel_b and kernel_c once, on each of two streams.
  expect_five_samples_of_each(run.profile, 10);
  std::set<int> streams;
  for (const json& event : run.profile["events"])
    streams.insert(event["stream_index"].get<int>());
  EXPECT_EQ(streams, (std::set<int>{0, 1}));
  EXPECT_TRUE(event_named(run.profile, "kernel_a", 2).is_object());
}

TEST(ProfJson, MeasuresEveryDeviceInTheSameIteration) {
  const ProfiledRun run = train({"--iterations=60", "--devices=2"}, {"SIMGPU_DEVICES=2"});
  EXPECT_EQ(run.profile["devices"].size(), 2U);
  EXPECT_EQ(run.profile["events"].size(), 6U);
  std::map<int, json> iterations;  // by device
  for (const json& event : run.profile["events"])
    if (event["event_name"] == "step.gemm") iterations[event["device_id"]] = event["iterations"];
  EXPECT_EQ(iterations[0], iterations[1]);
  EXPECT_EQ(iterations[1].size(), 5U);
}

// kernel_b lies between the starts and the stops of both labels.
TEST(ProfJson, SaysThatALabelIsOpenAcrossTheBeginOfAnIteration) {
  const ProfiledRun run =
      train({"--iterations=90", "--no-boundaries"}, {"INLINE_PROF_ITERATION=kernel:kernel_b*"});
  for (const char* label : {"step", "step.gemm"}) {
    const json& open = event_named(run.profile, label);
    EXPECT_TRUE(open["measured_times_ms"].empty()) << label;
    EXPECT_EQ(open["reason"],
              "5 of 5 samples are missing: it was open where an iteration began, and is not "
              "measured across that");
  }
  EXPECT_EQ(event_named(run.profile, "kernel_c")["measured_times_ms"].size(), 5U);
  EXPECT_THAT(run.profile["warnings"].dump(),
              HasSubstr("of labels that were open where an iteration began"));
}

TEST(ProfJson, MeasuresEveryEventOfAnIterationInModeOneShot) {
  const ProfiledRun run = train(
      {"--iterations=60"},
      {"INLINE_PROF_MODE=one_shot", "PROFILING_REPEAT_ITERS=20", "PROFILING_RECORD_EVERY_N=5"});
  EXPECT_EQ(run.profile["complete"], true);
  EXPECT_EQ(run.profile["profiler"]["mode"], "one_shot");
  ASSERT_EQ(run.profile["events"].size(), 3U);
  for (const json& event : run.profile["events"])
    EXPECT_EQ(event["iterations"], json::parse("[4, 9, 14, 19]")) << event["event_name"];
  // The label's pair encloses the pair of the label inside it.
  EXPECT_GT(median_us(event_named(run.profile, "step")),
            median_us(event_named(run.profile, "step.gemm")));
}

TEST(ProfJson, KeepsUnitTestsApart) {
  const ProfiledRun run =
      train({"--iterations=24", "--unit-tests"}, {"INLINE_PROF_MODE=unit_test"});
  EXPECT_EQ(run.profile["profiler"]["mode"], "unit_test");
  expect_five_samples_of_each(run.profile, 6);
  std::map<std::string, int> events_of;
  for (const json& event : run.profile["events"])
    ++events_of[event["layer_name"]];
  EXPECT_EQ(events_of, (std::map<std::string, int>{{"even.Top", 3}, {"odd.Top", 3}}));
}

TEST(ProfJson, CountsTheWholeRunWhereNoIterationBegins) {
  const ProfiledRun run("host_training", {.arguments = {"--iterations=5000", "--no-boundaries"},
                                          .environment = {"INLINE_PROF_ITERATION=macro"}});
  EXPECT_THAT(run.output, HasSubstr("no iteration boundary was met"));
  EXPECT_EQ(run.profile["profiler"]["iteration_source"], "none");
  EXPECT_EQ(run.profile["overhead"]["launches_seen"], 25000);
  ASSERT_EQ(run.profile["iter_time_ms"].size(), 1U);
  ASSERT_EQ(run.profile["events"].size(), 3U);
  for (const json& event : run.profile["events"]) {
    EXPECT_EQ(event["flags"], json::parse(R"(["any_occurrence"])"));
    EXPECT_GE(event["measured_times_ms"].size(), 8U) << event["event_name"];
    EXPECT_GT(event["calls"], 1000) << event["event_name"];
  }
}

TEST(ProfJson, FollowsAScheduleOfTheOriginal) {
  const ProfiledRun run(
      "host_training",
      {.arguments = {"--iterations=20"},
       .files = {
           {"prof.schedule", "3\nstep.gemm 5 Layer.fc1 0\nkernel_c 6 - 0\nnot_there 7 - 0\n"}}});
  const json& gemm = event_named(run.profile, "step.gemm");
  EXPECT_THAT(gemm["iterations"], ElementsAre(5));
  EXPECT_EQ(gemm["layer_name"], "Layer.fc1");
  EXPECT_THAT(event_named(run.profile, "kernel_c")["iterations"], ElementsAre(6));
  EXPECT_TRUE(event_named(run.profile, "step")["iterations"].empty());
  // The label that never came is reported in both places, with those that did.
  EXPECT_THAT(run.output, HasSubstr("never met"));
  EXPECT_THAT(run.output, HasSubstr("not_there"));
  EXPECT_THAT(run.output, HasSubstr("step, step.gemm"));
  EXPECT_THAT(run.profile["warnings"].dump(), HasSubstr("not_there"));
}

TEST(ProfJson, ShufflesInterleavedSamples) {
  const ProfiledRun run =
      train({"--iterations=60"}, {"INLINE_PROF_POLICY=interleaved", "INLINE_PROF_SEED=7"});
  EXPECT_EQ(run.profile["profiler"]["policy"], "interleaved");
  const auto iterations = event_named(run.profile, "step")["iterations"].get<std::vector<int>>();
  ASSERT_EQ(iterations.size(), 5U);
  // One in each round of three.
  for (std::size_t round = 0; round < 5; ++round)
    EXPECT_EQ((iterations[round] - 4) / 3, static_cast<int>(round));
}

TEST(ProfJson, TakesRuntimeDataOnRequest) {
  const ProfiledRun run =
      train({"--iterations=60", "--data"}, {"PROFILING_DATA_COLLECTION_ITERS=4"});
  const json& data = run.profile["runtime_data"];
  ASSERT_EQ(data.size(), 1U);
  EXPECT_EQ(data[0]["data_name"], "batch");
  EXPECT_THAT(data[0]["data"], ElementsAre("6912", "6912", "6912", "6912"));
}

TEST(ProfJson, ReportsAStopWithoutAStartAndAStartWithoutAStop) {
  const ProfiledRun run =
      train({"--iterations=80", "--stop-without-start", "--start-without-stop"});
  const std::string sentence = "never_started.stop was met without a .start before it";
  EXPECT_EQ(run.output.find(sentence), run.output.rfind(sentence)) << "said once";
  EXPECT_THAT(run.profile["warnings"].dump(), HasSubstr(sentence));
  EXPECT_THAT(run.profile["warnings"].dump(),
              HasSubstr("never_stopped.start was met without a .stop after it"));
  EXPECT_TRUE(event_named(run.profile, "never_stopped")["measured_times_ms"].empty());
  EXPECT_EQ(event_named(run.profile, "kernel_c")["measured_times_ms"].size(), 5U);
}

TEST(ProfJson, IsWrittenBeforeTheProgramIsEndedOnRequest) {
  const Texts endless{"--iterations=100000"};
  for (const HostOptions& options : {short_training(joined(endless, {"--exit-when-finished"})),
                                     short_training(endless, {"INLINE_PROF_EXIT_WHEN_DONE=1"})}) {
    const ProfiledRun run("host_training", options);
    EXPECT_EQ(run.output, "") << "the program did not come to its end";
    EXPECT_EQ(run.profile["complete"], true);
  }
}

TEST(ProfJson, IsNamedAfterHostAndRank) {
  const Workplace place;
  const HostRun run = run_host(
      place, "host_training",
      short_training({"--iterations=60"}, {"RANK=3", "WORLD_SIZE=16", "PROFILING_DIR=deep/er"}));
  EXPECT_EQ(run.exit_status, 0) << run.output;
  const Texts names = place.names("deep/er");
  ASSERT_EQ(names.size(), 1U);
  const json profile = place.json("deep/er/" + names[0]);
  EXPECT_EQ(profile["rank"], 3);
  EXPECT_EQ(profile["world_size"], 16);
  EXPECT_EQ(profile["host_name"].get<std::string>() + ".rank3.prof.json", names[0]);
}

}  // namespace
}  // namespace inline_prof::test
