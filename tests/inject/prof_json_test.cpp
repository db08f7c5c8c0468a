#include "run_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace inline_prof::test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

// Shorter than the defaults, so that a schedule ends soon.
const std::vector<std::string> kShortTraining{"INLINE_PROF_WARMUP=3", "INLINE_PROF_REPEAT=5",
                                              "INLINE_PROF_OVERHEAD=0"};

std::vector<std::string> with(std::vector<std::string> more) {
  more.insert(more.begin(), kShortTraining.begin(), kShortTraining.end());
  return more;
}

struct Profiled {
  HostRun run;
  json profile;
};

// Trains to the end, in a short run, and reads prof.json.
Profiled train(const Workplace& place, std::vector<std::string> arguments,
               std::vector<std::string> more_environment = {}) {
  Profiled result;
  result.run = run_host(
      place, "host_training",
      {.arguments = std::move(arguments), .environment = with(std::move(more_environment))});
  EXPECT_EQ(result.run.exit_status, 0) << result.run.output;
  result.profile = place.json();
  return result;
}

const json& event(const json& profile, const std::string& name, int occurrence = 0) {
  for (const json& each : profile["events"]) {
    if (each["event_name"] == name && each["met_times_within_this_stream"] == occurrence) {
      return each;
    }
  }
  throw std::runtime_error("no event " + name);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::vector<double> times_us(const json& event) {
  std::vector<double> times;
  for (const json& each : event["measured_times_ms"])
    times.push_back(each.get<double>() * 1e3);
  return times;
}

TEST(ProfJson, HoldsEveryScheduledSampleOfEveryEvent) {
  const Workplace place;
  const auto [run, profile] = train(place, {"--iterations=60"});
  EXPECT_EQ(run.output, "host ok, 300 launches\n");  // a healthy profiler says nothing
  EXPECT_THAT(place.files(), ElementsAre("prof.json"));

  EXPECT_EQ(profile["schema"], "inline_prof/1");
  EXPECT_EQ(profile["complete"], true);
  EXPECT_EQ(profile["profiler"]["iteration_source"], "macro");
  // step, step.gemm, and kernel_c, which no label encloses: three events of five samples each.
  ASSERT_EQ(profile["events"].size(), 3U);
  std::set<std::int64_t> iterations;
  for (const json& each : profile["events"]) {
    EXPECT_EQ(each["measured_times_ms"].size(), 5U) << each["event_name"];
    for (const char* key : {"iter_start_to_event_start_times_ms", "iterations", "tight"}) {
      EXPECT_EQ(each[key].size(), 5U) << key;
    }
    for (const json& iteration : each["iterations"])
      iterations.insert(iteration.get<std::int64_t>());
  }
  // One event an iteration, from the first after the warm-up on.
  EXPECT_EQ(iterations.size(), 15U);
  EXPECT_EQ(*iterations.begin(), 4);
  EXPECT_EQ(*iterations.rbegin(), 18);
  EXPECT_EQ(profile["iter_time_ms"].size(), 15U);
  EXPECT_EQ(profile["overhead"]["armed_iterations"], 15);
}

TEST(ProfJson, HoldsWhatWasMetWhereTheProgramEndsInTheWarmUp) {
  const Workplace place;
  const auto [run, profile] = train(place, {"--iterations=2"});
  EXPECT_THAT(run.output, HasSubstr("the program ended in the warm-up, after iteration 2 of 3"));
  EXPECT_EQ(profile["complete"], false);
  ASSERT_EQ(profile["events"].size(), 3U);
  for (const json& each : profile["events"])
    EXPECT_EQ(each["measured_times_ms"].size(), 0U) << each["event_name"];
}

TEST(ProfJson, NamesKernelsLayersAndOperations) {
  const Workplace place;
  const auto [run, profile] = train(place, {"--iterations=60"});
  const json& gemm = event(profile, "step.gemm");
  EXPECT_EQ(gemm["layer_name"], "Top");
  EXPECT_THAT(gemm["kernel_names"], ElementsAre("kernel_b"));
  EXPECT_EQ(gemm["op"], json::parse(R"({"kind": "gemm", "m": 128, "n": 64, "k": 32,
                                        "a_type": "f16", "source": "PROFILE_OP"})"));
  const json& region = event(profile, "step");
  EXPECT_LT(region["start_index"], gemm["start_index"]);
  EXPECT_GT(region["end_index"], gemm["end_index"]);
  EXPECT_THAT(region["kernel_names"], ElementsAre("kernel_a"));
  const json& kernel = event(profile, "kernel_c");
  EXPECT_EQ(kernel["grid"], json::parse("[16, 1, 1]"));
  EXPECT_EQ(kernel["block"], json::parse("[128, 1, 1]"));
}

TEST(ProfJson, MeasuresTheSimulatedTruthPlusThePairsBias) {
  const Workplace place;
  const auto [run, profile] =
      train(place, {"--iterations=60", "--no-labels"},
            {"SIMGPU_PAIR_BIAS_US=5.5", "SIMGPU_TRUTH=truth.json", "SIMGPU_HOST_SPEED=0.5"});
  const json truth = place.json("truth.json");
  double truth_us = 0;
  for (const json& kernel : truth["kernels"]) {
    if (kernel["name"] == "kernel_b") truth_us = kernel["nominal_us"];
  }
  ASSERT_GT(truth_us, 0);
  ASSERT_EQ(profile["calibration"].size(), 3U) << profile["warnings"];
  const json& busy = profile["calibration"][1];
  ASSERT_EQ(busy["state"], "busy");
  EXPECT_NEAR(busy["empty_pair_us"]["median"], 5.5, 0.01);
  EXPECT_EQ(busy["empty_pair_us"]["count"], 64);
  EXPECT_NEAR(median(times_us(event(profile, "kernel_b"))), truth_us + 5.5, 0.05);
}

TEST(ProfJson, SaysWhichSamplesWereTight) {
  // An application that runs ahead queues its launches behind others; one that lags finds the GPU
  // idle.
  for (const auto& [speed, expected] : {std::pair("0.05", true), std::pair("20", false)}) {
    const Workplace place;
    const auto [run, profile] = train(place, {"--iterations=60", "--no-labels", "--repeats=20"},
                                      {std::string("SIMGPU_HOST_SPEED=") + speed});
    for (const json& tight : event(profile, "kernel_c")["tight"])
      EXPECT_EQ(tight, expected);
  }
}

TEST(ProfJson, CountsOccurrencesWithinAnIterationAndStream) {
  const Workplace place;
  const auto [run, profile] = train(place, {"--iterations=120", "--no-labels", "--streams=2"});
  // kernel_a three times, kernel_b and kernel_c once, on each of two streams.
  EXPECT_EQ(profile["events"].size(), 10U);
  std::set<int> streams;
  for (const json& each : profile["events"]) {
    streams.insert(each["stream_index"].get<int>());
    EXPECT_EQ(each["measured_times_ms"].size(), 5U);
  }
  EXPECT_EQ(streams, (std::set<int>{0, 1}));
  EXPECT_NO_THROW(event(profile, "kernel_a", 2));
}

TEST(ProfJson, MeasuresEveryDeviceInTheSameIteration) {
  const Workplace place;
  const auto [run, profile] =
      train(place, {"--iterations=60", "--devices=2"}, {"SIMGPU_DEVICES=2"});
  EXPECT_EQ(profile["devices"].size(), 2U);
  EXPECT_EQ(profile["events"].size(), 6U);
  json of_device[2];
  for (const json& each : profile["events"]) {
    if (each["event_name"] == "step.gemm") of_device[each["device_id"].get<int>()] = each;
  }
  EXPECT_EQ(of_device[0]["iterations"], of_device[1]["iterations"]);
  EXPECT_EQ(of_device[1]["measured_times_ms"].size(), 5U);
}

TEST(ProfJson, FindsTheIterationsThatNobodyMarks) {
  const Workplace place;
  const auto [run, profile] =
      train(place, {"--iterations=800", "--no-boundaries", "--no-labels", "--repeats=16"});
  EXPECT_EQ(profile["profiler"]["iteration_source"], "auto");
  EXPECT_GT(profile["profiler"]["iteration_confidence"], 0.9);
  EXPECT_EQ(profile["complete"], true);
  // kernel_b, 16 times kernel_a, kernel_c: the iteration as the program has it.
  ASSERT_EQ(profile["events"].size(), 18U);
  EXPECT_EQ(profile["events"][0]["event_name"], "kernel_b");
  EXPECT_EQ(profile["events"][17]["event_name"], "kernel_c");
  for (const json& each : profile["events"])
    EXPECT_EQ(each["measured_times_ms"].size(), 5U) << each["event_name"];
}

TEST(ProfJson, MeasuresEveryEventOfAnIterationInModeOneShot) {
  const Workplace place;
  const auto [run, profile] = train(
      place, {"--iterations=60"},
      {"INLINE_PROF_MODE=one_shot", "PROFILING_REPEAT_ITERS=20", "PROFILING_RECORD_EVERY_N=5"});
  EXPECT_EQ(profile["complete"], true);
  EXPECT_EQ(profile["profiler"]["mode"], "one_shot");
  ASSERT_EQ(profile["events"].size(), 3U);
  for (const json& each : profile["events"])
    EXPECT_EQ(each["iterations"], json::parse("[4, 9, 14, 19]")) << each["event_name"];
  // The label's pair stands around the pair of the label inside it.
  EXPECT_GT(median(times_us(event(profile, "step"))),
            median(times_us(event(profile, "step.gemm"))));
}

TEST(ProfJson, KeepsUnitTestsApart) {
  const Workplace place;
  const auto [run, profile] =
      train(place, {"--iterations=24", "--unit-tests"}, {"INLINE_PROF_MODE=unit_test"});
  EXPECT_EQ(profile["complete"], true);
  EXPECT_EQ(profile["profiler"]["mode"], "unit_test");
  ASSERT_EQ(profile["events"].size(), 6U);  // three of each test
  std::map<std::string, int> events_of;
  for (const json& each : profile["events"]) {
    ++events_of[each["layer_name"]];
    EXPECT_EQ(each["measured_times_ms"].size(), 5U) << each["event_name"];
  }
  EXPECT_EQ(events_of, (std::map<std::string, int>{{"even.Top", 3}, {"odd.Top", 3}}));
}

TEST(ProfJson, StartsIterationsAtTheKernelThatTheUserNames) {
  const Workplace place;
  const auto [run, profile] = train(place, {"--iterations=60", "--no-boundaries", "--no-labels"},
                                    {"INLINE_PROF_ITERATION=kernel:kernel_b*"});
  EXPECT_EQ(profile["profiler"]["iteration_source"], "kernel:kernel_b*");
  EXPECT_EQ(profile["complete"], true);
  ASSERT_EQ(profile["events"].size(), 5U);  // kernel_b, three times kernel_a, kernel_c
  EXPECT_EQ(profile["events"][0]["event_name"], "kernel_b");
  for (const json& each : profile["events"])
    EXPECT_EQ(each["measured_times_ms"].size(), 5U) << each["event_name"];
}

// kernel_b lies between the starts and the stops of both labels.
TEST(ProfJson, SaysOfALabelThatItIsOpenWhereAnIterationBegins) {
  const Workplace place;
  const auto [run, profile] = train(place, {"--iterations=90", "--no-boundaries"},
                                    {"INLINE_PROF_ITERATION=kernel:kernel_b*"});
  for (const char* label : {"step", "step.gemm"}) {
    const json open = event(profile, label);
    EXPECT_TRUE(open["measured_times_ms"].empty()) << label;
    EXPECT_EQ(open["reason"],
              "5 of 5 samples are missing: it was open where an iteration began, and is not "
              "measured across that");
  }
  EXPECT_EQ(event(profile, "kernel_c")["measured_times_ms"].size(), 5U);
  EXPECT_THAT(profile["warnings"].dump(),
              HasSubstr("of labels that were open where an iteration began"));
}

TEST(ProfJson, CountsTheWholeRunWhereNoIterationBegins) {
  const Workplace place;
  const HostRun run = run_host(place, "host_training",
                               {.arguments = {"--iterations=5000", "--no-boundaries"},
                                .environment = {"INLINE_PROF_ITERATION=macro"}});
  ASSERT_EQ(run.exit_status, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("no iteration boundary was met"));
  const json profile = place.json();
  EXPECT_EQ(profile["profiler"]["iteration_source"], "none");
  EXPECT_EQ(profile["overhead"]["launches_seen"], 25000);
  ASSERT_EQ(profile["iter_time_ms"].size(), 1U);
  ASSERT_EQ(profile["events"].size(), 3U);
  for (const json& each : profile["events"]) {
    EXPECT_EQ(each["flags"], json::parse(R"(["any_occurrence"])"));
    EXPECT_GE(each["measured_times_ms"].size(), 8U) << each["event_name"];
    EXPECT_GT(each["calls"], 1000) << each["event_name"];
  }
}

TEST(ProfJson, FollowsAScheduleOfTheOriginal) {
  const Workplace place;
  place.write("prof.schedule", "3\nstep.gemm 5 Layer.fc1 0\nkernel_c 6 - 0\nnot_there 7 - 0\n");
  const HostRun run = run_host(place, "host_training", {.arguments = {"--iterations=20"}});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  const json profile = place.json();
  EXPECT_THAT(event(profile, "step.gemm")["iterations"], ElementsAre(5));
  EXPECT_EQ(event(profile, "step.gemm")["layer_name"], "Layer.fc1");
  EXPECT_THAT(event(profile, "kernel_c")["iterations"], ElementsAre(6));
  EXPECT_TRUE(event(profile, "step")["iterations"].empty());
  // The label that never came is reported in both places, with those that did.
  EXPECT_THAT(run.output, HasSubstr("never met"));
  EXPECT_THAT(run.output, HasSubstr("not_there"));
  EXPECT_THAT(run.output, HasSubstr("step, step.gemm"));
  EXPECT_THAT(profile["warnings"].dump(), HasSubstr("not_there"));
}

TEST(ProfJson, ShufflesInterleavedSamples) {
  const Workplace place;
  const auto [run, profile] =
      train(place, {"--iterations=60"}, {"INLINE_PROF_POLICY=interleaved", "INLINE_PROF_SEED=7"});
  EXPECT_EQ(profile["profiler"]["policy"], "interleaved");
  const auto iterations = event(profile, "step")["iterations"].get<std::vector<int>>();
  ASSERT_EQ(iterations.size(), 5U);
  // One in each round of three.
  for (std::size_t round = 0; round < 5; ++round) {
    EXPECT_EQ((iterations[round] - 4) / 3, static_cast<int>(round));
  }
}

TEST(ProfJson, TakesRuntimeDataWhereAskedTo) {
  const Workplace place;
  const HostRun run = run_host(place, "host_training",
                               {.arguments = {"--iterations=60", "--data"},
                                .environment = with({"PROFILING_DATA_COLLECTION_ITERS=4"})});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  const json data = place.json()["runtime_data"];
  ASSERT_EQ(data.size(), 1U);
  EXPECT_EQ(data[0]["data_name"], "batch");
  EXPECT_THAT(data[0]["data"], ElementsAre("6912", "6912", "6912", "6912"));
}

TEST(ProfJson, ReportsAStopWithoutAStart) {
  const Workplace place;
  const HostRun run = run_host(
      place, "host_training",
      {.arguments = {"--iterations=60", "--stop-without-start"}, .environment = kShortTraining});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  const std::string sentence = "never_started.stop was met without a .start before it";
  EXPECT_EQ(run.output.find(sentence), run.output.rfind(sentence)) << "said once";
  EXPECT_THAT(place.json()["warnings"].dump(), HasSubstr(sentence));
}

TEST(ProfJson, ReportsAStartWithoutAStop) {
  const Workplace place;
  const auto [run, profile] = train(place, {"--iterations=80", "--start-without-stop"});
  EXPECT_THAT(profile["warnings"].dump(),
              HasSubstr("never_stopped.start was met without a .stop after it"));
  EXPECT_TRUE(event(profile, "never_stopped")["measured_times_ms"].empty());
  EXPECT_EQ(event(profile, "kernel_c")["measured_times_ms"].size(), 5U);
}

TEST(ProfJson, SaysWhenTheProgramEndedBeforeTheSchedule) {
  const Workplace place;
  const HostRun run = run_host(place, "host_training", {.arguments = {"--iterations=30"}});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  const json profile = place.json();
  EXPECT_EQ(profile["complete"], false);
  EXPECT_THAT(profile["warnings"].dump(),
              HasSubstr("the program ended at iteration 30 of 160: 20 of 150 samples were taken"));
}

TEST(ProfJson, IsWrittenBeforeTheProgramIsEndedOnRequest) {
  for (const bool by_macro : {false, true}) {
    const Workplace place;
    std::vector<std::string> arguments{"--iterations=100000"};
    std::vector<std::string> environment = kShortTraining;
    if (by_macro) arguments.emplace_back("--exit-when-finished");
    if (!by_macro) environment.emplace_back("INLINE_PROF_EXIT_WHEN_DONE=1");
    const HostRun run =
        run_host(place, "host_training", {.arguments = arguments, .environment = environment});
    EXPECT_EQ(run.exit_status, 0);
    EXPECT_EQ(run.output, "") << "the program did not come to its end";
    EXPECT_EQ(place.json()["complete"], true);
  }
}

TEST(ProfJson, NeverReplacesAFileOfAnotherRun) {
  const Workplace place;
  place.write("prof.json", "mine");
  for (int run = 0; run < 2; ++run) {
    EXPECT_EQ(run_host(place, "host_training",
                       {.arguments = {"--iterations=60"}, .environment = kShortTraining})
                  .exit_status,
              0);
  }
  EXPECT_THAT(place.files(), ElementsAre("prof.1.json", "prof.2.json", "prof.json"));
  EXPECT_EQ(place.text("prof.json"), "mine");
}

TEST(ProfJson, IsNamedAfterHostAndRank) {
  const Workplace place;
  const HostRun run =
      run_host(place, "host_training",
               {.arguments = {"--iterations=60"},
                .environment = with({"RANK=3", "WORLD_SIZE=16", "PROFILING_DIR=deep/er"})});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(place.path() / "deep/er")) {
    names.push_back(entry.path().filename().string());
  }
  ASSERT_EQ(names.size(), 1U);
  EXPECT_THAT(names[0], testing::EndsWith(".rank3.prof.json"));
  const json profile = place.json("deep/er/" + names[0]);
  EXPECT_EQ(profile["rank"], 3);
  EXPECT_EQ(profile["world_size"], 16);
  EXPECT_EQ(profile["host_name"].get<std::string>() + ".rank3.prof.json", names[0]);
}

TEST(ProfJson, IsKeptAsACheckpointWhenTheProgramIsKilled) {
  const Workplace place;
  place.write("prof.events", "kernel_b\n");
  const HostRun run =
      run_host(place, "host_training",
               {.arguments = {"--iterations=100000000", "--no-labels", "--repeats=50"},
                .environment = with({"INLINE_PROF_CHECKPOINT=1", "INLINE_PROF_REPEAT=1000000"}),
                .seconds = 6});
  EXPECT_EQ(run.exit_status, 124) << run.output;  // stopped by SIGKILL
  const json profile = place.json();
  EXPECT_EQ(profile["complete"], false);
  EXPECT_GT(event(profile, "kernel_b")["measured_times_ms"].size(), 10U);
}

}  // namespace
}  // namespace inline_prof::test
