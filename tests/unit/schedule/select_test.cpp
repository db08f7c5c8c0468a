#include "schedule/select.hpp"

#include "testing.hpp"

namespace inline_prof::schedule {
namespace {

// Two fully connected layers, as a program without scopes shows them, and an embedding.
std::vector<MetEvent> met_without_layers() {
  return {{"fc.fprop", "", 0, "sm90_gemm"},
          {"fc.fprop", "", 1, "sm90_gemm"},
          {"emb.fprop", "", 0, "embedding_kernel<float>"},
          {"fc.bprop", "", 0, "sm90_gemm_nt"},
          {"fc.bprop", "", 1, "sm90_gemm_nt"}};
}

TEST(Select, TakesEverythingWhereNothingIsAsked) {
  const Selection selection = select({}, met_without_layers());
  EXPECT_THAT(selection.chosen, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(selection.never_met, IsEmpty());
}

TEST(Select, TakesNamedEventsAtEveryOccurrence) {
  const EventNames names{.names = {"fc.bprop", "fc.fprop", "relu", "fc.bprop"}};
  const Selection selection = select(names, met_without_layers());
  EXPECT_THAT(selection.chosen, ElementsAre(0, 1, 3, 4));  // in the order they were met
  EXPECT_THAT(selection.never_met, ElementsAre("\"relu\""));
}

TEST(Select, GivesMetEventsTheLayersOfTheSchedule) {
  const SampleList list{.warmup = 10,
                        .samples = {{11, {"fc.bprop", "fc2", 0}},
                                    {12, {"fc.fprop", "fc1", 0}},
                                    {13, {"fc.bprop", "fc2", 0}}}};
  const Selection selection = select(list, met_without_layers());
  EXPECT_THAT(selection.chosen, ElementsAre(3, 0));  // in the order of their first sample
  EXPECT_THAT(selection.layers, ElementsAre("fc2", "fc1"));
  EXPECT_THAT(selection.turns, ElementsAre(Turn{11, 0}, Turn{12, 1}, Turn{13, 0}));
}

TEST(Select, LeavesTheIterationsOfEventsNeverMetEmpty) {
  const SampleList list{
      .warmup = 0,
      .samples = {{1, {"relu", "", 0}}, {2, {"fc.fprop", "fc9", 8}}, {3, {"fc.fprop", "", 1}}}};
  const Selection selection = select(list, met_without_layers());
  EXPECT_THAT(selection.never_met,
              ElementsAre("\"relu\" occurrence 0 (no event of this name was met)",
                          "\"fc.fprop\" occurrence 8 in layer \"fc9\" (met with occurrences up "
                          "to 1)"));
  const Plan plan = make_plan(list, selection, settle({}, list));
  EXPECT_EQ(plan.event_at(1), std::nullopt);
  EXPECT_EQ(plan.event_at(2), std::nullopt);
  EXPECT_EQ(plan.event_at(3), 0U);
}

// The same event on two streams, in scopes that the program names itself.
TEST(Select, PrefersTheEntryWithTheLayerThatWasMet) {
  const std::vector<MetEvent> met{{"gemm", "A", 0, ""}, {"gemm", "B", 0, ""}};
  const SampleList both{.warmup = 0, .samples = {{1, {"gemm", "B", 0}}, {2, {"gemm", "A", 0}}}};
  EXPECT_THAT(select(both, met).chosen, ElementsAre(1, 0));

  const SampleList other{.warmup = 0, .samples = {{1, {"gemm", "B", 0}}, {2, {"gemm", "C", 0}}}};
  const Selection selection = select(other, {{"gemm", "B", 0, ""}});
  EXPECT_THAT(selection.chosen, ElementsAre(0));
  EXPECT_THAT(selection.never_met,
              ElementsAre("\"gemm\" occurrence 0 in layer \"C\" (met with occurrences up to 0)"));
}

TEST(Select, SaysWhichLayerASampleInAnyLayerMeasures) {
  const std::vector<MetEvent> met{{"gemm", "A", 0, ""}, {"gemm", "B", 0, ""}};
  const SampleList list{.warmup = 0, .samples = {{1, {"gemm", "", 0}}}};
  const Selection selection = select(list, met);
  EXPECT_THAT(selection.chosen, ElementsAre(0));
  EXPECT_THAT(selection.layers, ElementsAre("A"));
  EXPECT_THAT(selection.warnings,
              ElementsAre("\"gemm\" occurrence 0 was met in 2 layers: measuring the one in \"A\""));
}

TEST(Select, TakesLayersInTheOrderOfTheDictionary) {
  Spec spec;
  spec.layers = {{.layer = "fc2",
                  .forward_events = {"fc.fprop"},
                  .backward_events = {"fc.bprop"},
                  .forward_occurrence = 1,
                  .backward_occurrence = 0},
                 {.layer = "fc1", .forward_events = {"fc.fprop", "fc.fprop.gemm"}},
                 {.layer = "fc0", .forward_events = {"fc.fprop"}, .enabled = false}};
  const Selection selection = select(spec, met_without_layers());
  EXPECT_THAT(selection.chosen, ElementsAre(1, 3, 0));
  EXPECT_THAT(selection.layers, ElementsAre("fc2", "fc2", "fc1"));
  EXPECT_THAT(selection.never_met,
              ElementsAre("\"fc.fprop.gemm\" occurrence 0 in layer \"fc1\" (no event of this name "
                          "was met)"));
}

TEST(Select, TakesWhatPatternsFindAfterTheLayers) {
  Spec spec;
  spec.layers = {{.layer = "emb", .forward_events = {"emb.fprop"}}};
  spec.patterns = {{.match = "fc.b*", .op = "gemm"}, {.match = "*", .kernel = "*gemm"}};
  const Selection selection = select(spec, met_without_layers());
  EXPECT_THAT(selection.chosen, ElementsAre(2, 0, 1, 3, 4));
  EXPECT_THAT(selection.layers, ElementsAre("emb", "", "", "", ""));
}

TEST(Select, MatchesPatternsAgainstLayerAndEvent) {
  Spec spec;
  spec.patterns = {{.match = "TopMLP.*.gemm"}, {.match = "gemm"}};
  const std::vector<MetEvent> met{
      {"gemm", "TopMLP.fc5", 0, ""}, {"gemm", "BottomMLP.fc1", 0, ""}, {"gemm", "", 1, ""}};
  EXPECT_THAT(select(spec, met).chosen, ElementsAre(0, 2));
}

TEST(Select, LeavesOutWhatIsSwitchedOffWhateverElseAsksForIt) {
  Spec spec;
  spec.layers = {{.layer = "emb", .forward_events = {"emb.fprop"}},
                 {.layer = "fc1", .forward_events = {"fc.fprop"}}};
  spec.patterns = {{.kernel = "*embedding*", .enabled = false}, {.match = "*fprop"}};
  EXPECT_THAT(select(spec, met_without_layers()).chosen, ElementsAre(0, 1));

  spec.patterns = {{.match = "emb.*", .enabled = false}};  // in the words of the schedule
  EXPECT_THAT(select(spec, met_without_layers()).chosen, ElementsAre(0));
}

TEST(Select, TakesEverythingElseWherePatternsOnlySwitchOff) {
  Spec spec;
  spec.patterns = {{.kernel = "*gemm*", .enabled = false}};
  EXPECT_THAT(select(spec, met_without_layers()).chosen, ElementsAre(2));
}

TEST(Select, NamesPatternsThatFoundNothing) {
  Spec spec;
  spec.patterns = {{.match = "relu*"},
                   {.match = "*", .kernel = "nccl*"},
                   {.match = "nothing", .enabled = false}};
  EXPECT_THAT(
      select(spec, met_without_layers()).never_met,
      ElementsAre("the pattern match \"relu*\"", "the pattern match \"*\" kernel \"nccl*\""));
}

TEST(Select, NamesLayersForAPatternThatFoundNothing) {
  Spec spec;
  spec.patterns = {{.match = "relu*"}};
  EXPECT_THAT(select(spec, {{"gemm", "fc1", 0, ""},
                            {"gemm", "", 1, ""},
                            {"add", "fc1", 0, ""},
                            {"add", "fc2", 0, ""}})
                  .never_met,
              ElementsAre("the pattern match \"relu*\" (layers are fc1, fc2)"));
}

TEST(MakePlan, GeneratesForTheChosenEvents) {
  Spec spec;
  spec.repeat = 2;
  spec.patterns = {{.match = "fc.fprop"}};
  const Selection selection = select(spec, met_without_layers());
  const Plan plan = make_plan(spec, selection, settle({.policy = Policy::kInOrder}, spec));
  EXPECT_EQ(plan.sample_count(), 4);
  EXPECT_EQ(plan.event_at(13), 1U);
  const Plan large_first = make_plan(spec, selection, settle({}, spec), {1.0, 2.0});
  EXPECT_EQ(large_first.event_at(11), 1U);
  EXPECT_EQ(large_first.event_at(12), 0U);
}

}  // namespace
}  // namespace inline_prof::schedule
