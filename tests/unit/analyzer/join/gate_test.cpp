#include "join/compare/compare.hpp"
#include "join/join.hpp"
#include "profile_builder.hpp"
#include "testing.hpp"

namespace inline_prof::join {
namespace {

// toy_machine() moves 100 GB/s: 1 MB are predicted to take 10 us.
Analysis two_layers(const std::vector<double>& fast_us, const std::vector<double>& slow_us) {
  JoinOptions options;
  options.machine = toy_machine();
  options.models = model::Models::kRoofline;
  read::Profile profile = profile_of(
      {EventBuilder("copy", 0, 1).layer("fast").op(memory_op(500000, 500000)).samples_us(fast_us),
       EventBuilder("copy", 2, 3).layer("slow").op(memory_op(500000, 500000)).samples_us(slow_us)},
      100);
  profile.iter_time_ms.assign(8, 0.1);
  return join_profiles({profile}, {}, options);
}

std::vector<double> steady(double time_us) {
  return std::vector<double>(8, time_us);
}

GateResult result_of(const std::string& gate, const Analysis& analysis) {
  return check_gate(parse_gate(gate), analysis).result;
}

TEST(Gate, OneRowThatFailsIsEnough) {
  const Analysis analysis = two_layers(steady(11), steady(15));
  EXPECT_EQ(result_of("ratio<1.6", analysis), GateResult::kPassed);
  const GateOutcome outcome = check_gate(parse_gate("ratio < 1.3"), analysis);
  EXPECT_EQ(outcome.result, GateResult::kFailed);
  EXPECT_THAT(outcome.detail, HasSubstr("slow copy is 1.5"));
}

TEST(Gate, LayersNarrowItDown) {
  const Analysis analysis = two_layers(steady(11), steady(15));
  EXPECT_EQ(result_of("ratio[fa*]<1.3", analysis), GateResult::kPassed);
  EXPECT_EQ(result_of("ratio[none]<1.3", analysis), GateResult::kUndecided);
}

TEST(Gate, AnIntervalAcrossTheLimitDecidesNothing) {
  const Analysis analysis = two_layers(steady(11), {12, 12, 12, 12, 14, 14, 14, 14});
  EXPECT_EQ(result_of("ratio<1.3", analysis), GateResult::kUndecided);
  EXPECT_EQ(result_of("ratio<1.5", analysis), GateResult::kPassed);
  const Analysis few = two_layers({11, 11}, {11, 11});
  EXPECT_EQ(result_of("ratio<1.3", few), GateResult::kUndecided);
}

TEST(Gate, KnowsNumbersOfTheWholeRun) {
  const Analysis analysis = two_layers(steady(11), steady(15));
  EXPECT_EQ(result_of("iteration_ms<=0.1", analysis), GateResult::kPassed);
  EXPECT_EQ(result_of("iteration_ms<0.1", analysis), GateResult::kFailed);
  EXPECT_EQ(result_of("predicted_percent>20", analysis), GateResult::kPassed);
  EXPECT_EQ(result_of("overhead_percent<1", analysis), GateResult::kUndecided);  // not measured
  // Predicted are 10 us each: 9.1 and 33.3 % less.
  EXPECT_EQ(result_of("mape_percent>21", analysis), GateResult::kPassed);
  EXPECT_EQ(result_of("gmae_percent<17", analysis), GateResult::kFailed);
}

TEST(Gate, SaysWhatItCannotRead) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "expected METRIC < NUMBER"},         {"ratio", "expected METRIC < NUMBER"},
      {"speed<1", "found \"speed\""},           {"ratio<", "expected a number after <, found \"\""},
      {"ratio<1.3x", "found \"1.3x\""},         {"ratio<=nan", "found \"nan\""},
      {"ratio[a<1", "expected METRIC[LAYER]"},  {"ratio a]<1", "expected METRIC[LAYER]"},
      {"mape_percent[fc]<1", "takes no layer"}, {"ratio==1", "expected METRIC < NUMBER"}};
  for (const auto& [text, complaint] : cases) {
    try {
      static_cast<void>(parse_gate(text));
      ADD_FAILURE() << text;
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), HasSubstr(complaint)) << text;
    }
  }
}

}  // namespace
}  // namespace inline_prof::join
