#include "record/metrics_text.hpp"

#include "record/run_to_write.hpp"
#include "testing.hpp"

namespace inline_prof::record {
namespace {

// The lines of one metric, without its head.
std::vector<std::string> values(const std::string& text, const std::string& metric) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(metric + "{")) found.push_back(line.substr(metric.size()));
  return found;
}

EventRecord& timed(RunRecord& run, const std::string& layer, const std::string& name,
                   std::int64_t start, std::int64_t end, float time_ms) {
  EventRecord& event = add_event(run, name);
  event.layer_name = layer;
  event.start_index = start;
  event.end_index = end;
  event.reserve(1);
  static_cast<void>(event.add(sample(time_ms, 0, 11)));
  return event;
}

TEST(MetricsText, HasTheRunInOneFile) {
  RunRecord run;
  fill(run);
  run.events[0].calls = 1;
  WriteFacts facts;
  facts.complete = true;
  facts.cuda_errors = 7;
  const std::string text = metrics_text(run, facts, "job 5");
  const std::string of_run = R"({host="n046",rank="3",run="job 5")";
  EXPECT_THAT(values(text, "inline_prof_live_iteration_seconds"),
              ElementsAre(of_run + R"(,gpu="0"} 0.004625)"));
  EXPECT_THAT(values(text, "inline_prof_live_iterations"), ElementsAre(of_run + "} 2"));
  EXPECT_THAT(values(text, "inline_prof_live_iteration_lower_seconds"), IsEmpty());  // two times
  // 41 us less the 4.5 us that a pair takes around nothing.
  EXPECT_THAT(values(text, "inline_prof_live_layer_seconds"),
              ElementsAre(of_run + R"(,gpu="0",layer="TopMLP.fc5"} 3.65000011e-05)"));
  EXPECT_THAT(values(text, "inline_prof_live_samples"), ElementsAre(of_run + "} 3"));
  EXPECT_THAT(values(text, "inline_prof_live_samples_missing"), ElementsAre(of_run + "} 28"));
  EXPECT_THAT(values(text, "inline_prof_live_complete"), ElementsAre(of_run + "} 1"));
  EXPECT_THAT(text, Not(HasSubstr("overhead")));  // not measured
  EXPECT_EQ(values(text, "inline_prof_live_phase_share_ratio").size(), 5U);
}

TEST(MetricsText, HasTheNewestTimesOfARunThatIsWatched) {
  RunRecord run;
  fill(run);
  EXPECT_THAT(metrics_text(run, {}, "job"), Not(HasSubstr("inline_prof_live_changes")));
  fill_watch(run);
  run.watch->iteration.add(4000, 90'000, 9'000'000);
  run.watch->changes_found = 2;
  const std::string text = metrics_text(run, {}, "job");
  const std::string of_run = R"({host="n046",rank="3",run="job"} )";
  EXPECT_THAT(values(text, "inline_prof_live_changes"), ElementsAre(of_run + "2"));
  const auto times = values(text, "inline_prof_live_iteration_seconds");
  ASSERT_EQ(times.size(), 1U);
  const double seconds = std::stod(times[0].substr(times[0].find(' ')));
  EXPECT_NEAR(seconds, 0.009, 0.009 * watch::QuantileSketch::kRelativeError);
}

TEST(MetricsText, CountsALayerOnceAndPhasesByTheirKernels) {
  RunRecord run;
  run.iteration_times.restart(1);
  run.iteration_times.add(11, 1.0F);
  timed(run, "fc", "step", 0, 9, 0.9F);
  timed(run, "fc", "fprop", 1, 2, 0.2F);
  timed(run, "fc", "bprop", 3, 4, 0.3F);
  timed(run, "loss", "loss_kernel", 5, 6, 0.1F);  // a layer without a word is a module's forward
  timed(run, "", "fill", 10, 11, 0.05F);
  timed(run, "grads", "reduce", 7, 8, 0.25F).op =
      std::make_unique<Op>(Op{.kind = "collective", .attributes = {}, .source = "nccl"});
  const std::string text = metrics_text(run, {}, "r");
  const std::string of_gpu = R"({host="",run="r",gpu="0",)";
  EXPECT_THAT(
      values(text, "inline_prof_live_layer_seconds"),
      ElementsAre(of_gpu + "layer=\"fc\"} 0.000899999976", of_gpu + "layer=\"grads\"} 0.00025",
                  of_gpu + "layer=\"loss\"} 0.000100000001"));
  EXPECT_THAT(
      values(text, "inline_prof_live_phase_share_ratio"),
      ElementsAre(of_gpu + "phase=\"forward\"} 0.300000004",
                  of_gpu + "phase=\"backward\"} 0.300000012", of_gpu + "phase=\"optimizer\"} 0",
                  of_gpu + "phase=\"collective\"} 0.25", of_gpu + "phase=\"other\"} 0.0500000007"));
}

TEST(MetricsText, HasTheLargestLayersOnly) {
  RunRecord run;
  for (std::int64_t i = 0; i < 100; ++i) {
    timed(run, "layer" + std::to_string(i), "k", 2 * i, 2 * i + 1,
          0.001F * static_cast<float>(i + 1));
  }
  const auto layers = values(metrics_text(run, {}, "r"), "inline_prof_live_layer_seconds");
  ASSERT_EQ(layers.size(), kMostLayersInMetrics);
  EXPECT_THAT(layers.front(), HasSubstr("layer99"));
  EXPECT_THAT(layers.back(), HasSubstr("layer80"));
}

TEST(MetricsText, LooksAtTheLastIterations) {
  RunRecord run;
  run.iteration_times.restart(3000);
  for (int i = 0; i < 3000; ++i)
    run.iteration_times.add(i, i < 1900 ? 1.0F : 2.0F);
  const std::string text = metrics_text(run, {}, "r");
  EXPECT_THAT(values(text, "inline_prof_live_iteration_seconds"),
              ElementsAre(R"({host="",run="r",gpu="0"} 0.002)"));
  EXPECT_THAT(values(text, "inline_prof_live_iteration_upper_seconds"),
              ElementsAre(R"({host="",run="r",gpu="0"} 0.002)"));
}

TEST(MetricsText, EscapesWhatALabelCannotHold) {
  RunRecord run;
  run.host_name = "a\"b\\c\nd\xff";
  EXPECT_THAT(metrics_text(run, {}, "r"), HasSubstr(R"(host="a\"b\\c?d?")"));
}

}  // namespace
}  // namespace inline_prof::record
