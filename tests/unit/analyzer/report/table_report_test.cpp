#include "join/join.hpp"
#include "model/machines.hpp"
#include "profile_builder.hpp"
#include "read/read_profile.hpp"
#include "report/tables.hpp"
#include "report/text.hpp"
#include "testing.hpp"

#include <inline_prof/prof_format.hpp>

namespace inline_prof::report {
namespace {

read::Profile small_profile() {
  return read::read_profile(
      std::filesystem::path(INLINE_PROF_TEST_DATA "/gen3/small_h200.prof.json"));
}

std::string report_of(const read::Profile& profile, const TableOptions& options = {}) {
  const auto machines = model::builtin_machines();
  // The roofline alone: its numbers are easy to follow by hand.
  join::JoinOptions roofline;
  roofline.models = model::Models::kRoofline;
  return table_report(join::join_profiles({profile}, machines, roofline), options);
}

TEST(TableReport, StartsWithWhereTheIterationGoes) {
  const std::string report = report_of(small_profile());
  EXPECT_THAT(report,
              HasSubstr("machine     h200-sxm-141gb\n"
                        "iteration   1.000 ms, median of 5; found by macro (confidence 1.00)\n"
                        "\n"
                        "  measured and predicted                0.440 ms    44.0 %\n"
                        "  measured without prediction           0.160 ms    16.0 %\n"
                        "  seen but not measured                 0.178 ms    17.8 %\n"
                        "  idle or not seen                      0.222 ms    22.2 %\n"));
  EXPECT_THAT(report, HasSubstr("overhead    +0.050 %, 95 % interval [-0.020, +0.120]"));
  EXPECT_THAT(report, HasSubstr("event bias  5.00 us taken off each sample, source: calibration"));
  EXPECT_THAT(report, HasSubstr("dropped     2 interleaved_launch\n"));
}

TEST(ReadableEvent, OfAKernelWithAnOperatorIsThatAndTheKernelsOwnName) {
  const std::string kernel =
      "void at::native::(anonymous namespace)::vectorized_elementwise_kernel<4, "
      "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >";
  EXPECT_EQ(readable_event(kernel, "aten::add"), "aten::add vectorized_elementwise_kernel");
  EXPECT_EQ(readable_event(kernel, ""), kernel);
  EXPECT_EQ(readable_event("gemm", "cublasGemmEx"), "gemm");
  EXPECT_EQ(readable_event("a<b", "aten::add"), "aten::add a");
}

TEST(ShortenedApart, KeepsWhatTellsNamesApart) {
  const std::vector<std::string> names{"fused_fully_connected.fprop.add_bias_and_re_kernel",
                                       "fused_fully_connected.bprop.add_bias_and_re_kernel",
                                       "localized_slot_sparse_embedding_one_hot.forward", "relu"};
  EXPECT_THAT(
      shortened_apart(names, 37),
      ElementsAre("fused_fully_...ted.fprop....re_kernel", "fused_fully_...ted.bprop....re_kernel",
                  "localized_slot_sp...g_one_hot.forward", "relu"));
}

TEST(TableReport, ShowsTheIntervalOfAPredictionWhereThereIsRoom) {
  const read::Profile profile = small_profile();
  const auto machines = model::builtin_machines();
  const join::Analysis analysis = join::join_profiles({profile}, machines, {});
  EXPECT_THAT(table_report(analysis, {.width = 80}), Not(HasSubstr("90 % bound")));
  const std::string wide = table_report(analysis, {.width = 100});
  EXPECT_THAT(wide, HasSubstr("90 % bound"));
  EXPECT_THAT(wide, ContainsRegex("174.25 +[0-9.]+ to [0-9.]+ compute"));
}

TEST(TableReport, SaysHowManyTimesAreUpperBounds) {
  read::Profile profile = small_profile();
  EXPECT_THAT(report_of(profile), Not(HasSubstr("are upper bounds")));
  for (read::Event& event : profile.events)
    event.tight.assign(event.measured_ms.size(), read::Tight::kNo);
  EXPECT_THAT(report_of(profile), HasSubstr("are upper bounds\n"));
}

TEST(TableReport, ProposesTheOtherPeriod) {
  read::Profile profile = small_profile();
  EXPECT_THAT(report_of(profile), Not(HasSubstr("period:")));
  profile.profiler.iteration_launches = 13;
  profile.profiler.other_period = 97;
  EXPECT_THAT(report_of(profile), HasSubstr("INLINE_PROF_ITERATION=period:97"));
}

TEST(TableReport, BeginsWithTheDoubtWhereTheIterationIsDoubtful) {
  read::Profile profile = small_profile();
  profile.profiler.iteration_source = "auto";
  profile.profiler.iteration_confidence = 0.9;
  EXPECT_THAT(report_of(profile), Not(HasSubstr("DOUBTFUL")));
  profile.profiler.iteration_confidence = 0.45;
  EXPECT_THAT(report_of(profile), StartsWith("what        DOUBTFUL: these may be no "));
}

TEST(TableReport, ShowsRegionsFirstAndTheirChildrenBelow) {
  EXPECT_THAT(
      report_of(small_profile()),
      HasSubstr("MLP.fc1  fc.fprop\n"
                "  45.0%      1     455.00   0.2%     450.00     378.09 -       1.2 of bound\n"
                "  MLP.fc1  fc.fprop.relu\n"
                "  24.0%      1     245.00   0.4%     240.00     200.00 memory  1.2 of bound\n"
                "  MLP.fc1  fc.fprop.gemm\n"
                "  20.0%      1     205.00   0.5%     200.00     178.09 compute 1.1 of bound\n"));
}

TEST(TableReport, NamesReasonsAndUpperBoundsAtItsFoot) {
  const std::string report = report_of(small_profile());
  EXPECT_THAT(report, HasSubstr("   <= 57.00"));
  EXPECT_THAT(report, HasSubstr("\n<= the GPU waited for the host inside most samples"));
  EXPECT_THAT(report, HasSubstr("no prediction (1)\n"));
  EXPECT_THAT(report, HasSubstr("\n(1)         1 row: no model for embedding\n"));
}

TEST(TableReport, TopLeavesTheSmallRowsOut) {
  const std::string report = report_of(small_profile(), {.top = 1, .width = 80});
  EXPECT_THAT(report, HasSubstr("MLP.fc1  fc.fprop\n"));
  EXPECT_THAT(report, Not(HasSubstr("fc.fprop.gemm\n")));
  EXPECT_THAT(report, HasSubstr("1 of 6 rows, the largest first\n"));
}

TEST(TableReport, SaysHowMuchLongerTheOverheadMeasurementWouldTake) {
  read::Profile profile = profile_of({EventBuilder("a", 0, 1).samples_us({10})}, 100);
  profile.overhead = read::Overhead{.armed_iterations = 96,
                                    .unarmed_iterations = 96,
                                    .slowdown_percent = 0.2,
                                    .slowdown_percent_ci95 = std::pair(-0.3, 0.7),
                                    .iterations_needed = 4608,
                                    .method = "origin events, ABBA blocks"};
  EXPECT_THAT(
      report_of(profile),
      HasSubstr("overhead    +0.200 %, 95 % interval [-0.300, +0.700], 96 armed and 96 unarmed\n"
                "            iterations (origin events, ABBA blocks); 4608 more iterations would\n"
                "            tell to 0.1 %\n"));
  profile.overhead->slowdown_percent.reset();
  profile.overhead->method = "not measured: 2 groups of four blocks, armed and not, are too few";
  EXPECT_THAT(report_of(profile, {.width = 200}),
              HasSubstr("are too few; 4608 more iterations would tell\n"));
}

TEST(TableReport, TellsNoOverheadOfIterationsThatDifferTooMuch) {
  read::Profile profile = profile_of({EventBuilder("a", 0, 1).samples_us({10})}, 100);
  profile.overhead = read::Overhead{.armed_iterations = 8,
                                    .unarmed_iterations = 8,
                                    .slowdown_percent = 4.2,
                                    .slowdown_percent_ci95 = std::pair(3.609, 327641241.0),
                                    .iterations_needed = 1'000'000'000'000,
                                    .method = "origin events"};
  const std::string report = report_of(profile, {.width = 200});
  EXPECT_THAT(report,
              HasSubstr("overhead    not known: iterations differ too much from each other, "
                        "8 armed and 8 unarmed iterations (origin events)\n"));
  EXPECT_THAT(report, Not(HasSubstr("more iterations")));
}

TEST(TableReport, SaysThatIterationsAreAnOptimizersSteps) {
  read::Profile profile = small_profile();
  profile.runtime_data.push_back({"inline_prof.iterations", 0, "", {"optimizer step"}});
  EXPECT_THAT(report_of(profile), HasSubstr("median of 5; found by optimizer step\n"));
}

TEST(TableReport, CountsLaunchesThatFoundNoFreePairAsNoSamples) {
  read::Profile profile = profile_of({EventBuilder("a", 0, 1).samples_us({10})}, 100);
  profile.dropped.emplace_back("ring_full", 1012);
  EXPECT_THAT(report_of(profile), HasSubstr("1012 ring_full (launches, not samples)"));
}

TEST(TableReport, PredictsNoRowWhoseGridVaries) {
  const read::Op op{"memory", "", {{"read_bytes", 1 << 20}, {"write_bytes", 1 << 20}}};
  read::Profile profile = profile_of(
      {EventBuilder("a", 0, 1).samples_us({10}).op(op).flag(format::kFlagOtherGrids)}, 100);
  EXPECT_THAT(report_of(profile, {.width = 200}), HasSubstr("its grid varies from iteration"));
}

TEST(TableReport, SaysWhatIsNotKnown) {
  read::Profile profile = profile_of({EventBuilder("a", 0, 1).samples_us({10})}, 100);
  profile.complete = false;
  profile.overhead = read::Overhead{};
  profile.overhead->method = "too few iterations";
  const std::string report = report_of(profile);
  EXPECT_THAT(report, HasSubstr("NOT COMPLETE"));
  EXPECT_THAT(report,
              HasSubstr("machine     not known: the file does not say which GPU it ran on"));
  EXPECT_THAT(report, HasSubstr("--machine ID"));
  EXPECT_THAT(report, HasSubstr("overhead    not measured: too few iterations\n"));
  EXPECT_THAT(report, HasSubstr("prediction  no row has both a time above 0 and a prediction\n"));
  EXPECT_THAT(report, HasSubstr("source: none"));
}

}  // namespace
}  // namespace inline_prof::report
