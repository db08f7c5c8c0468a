#include "schedule/schedule_json.hpp"

#include "testing.hpp"

namespace inline_prof::schedule {
namespace {
using namespace std::string_literals;  // one input holds a zero byte

Spec spec_of(std::string_view text) {
  return parse_schedule_json(text, "s.json");
}

constexpr const char* kEverything = R"json({
  "warmup": 20, "repeat": 5, "mode": "one_shot", "policy": "interleaved",
  "seed": 18446744073709551615, "budget": "0.1%", "target_ci": 0.03,
  "layers": {                        // the original's Python dictionary
    "TopMLP.fc2": { "forward_events": ["fprop", "fprop.gemm"], "backward_events": ["bprop"],
                    "forward_occurrence": 1, "backward_occurrence": 6 },
    "BottomMLP.fc1": { "events": [{"event": "void f(int, int)", "occurrence": 3}] },
    "off": { "enabled": false /* for now */ }
  },
  "patterns": [ { "match": "TopMLP.*gemm*", "op": "gemm" },
                { "kernel": "*embedding*", "enabled": false } ] })json";

TEST(ParseScheduleJson, ReadsEveryKey) {
  const Spec spec = spec_of(kEverything);
  EXPECT_EQ(spec.warmup, 20);
  EXPECT_EQ(spec.repeat, 5);
  EXPECT_EQ(spec.mode, Mode::kOneShot);
  EXPECT_EQ(spec.policy, Policy::kInterleaved);
  EXPECT_EQ(spec.seed, 18446744073709551615U);
  EXPECT_EQ(spec.budget_percent, 0.1);
  EXPECT_EQ(spec.target_ci, 0.03);
  EXPECT_THAT(spec.layers, ElementsAre(LayerEvents{.layer = "TopMLP.fc2",
                                                   .forward_events = {"fprop", "fprop.gemm"},
                                                   .backward_events = {"bprop"},
                                                   .forward_occurrence = 1,
                                                   .backward_occurrence = 6},
                                       LayerEvents{.layer = "BottomMLP.fc1",
                                                   .events = {{"void f(int, int)", 3}}},
                                       LayerEvents{.layer = "off", .enabled = false}));
  EXPECT_THAT(spec.patterns, ElementsAre(Pattern{.match = "TopMLP.*gemm*", .op = "gemm"},
                                         Pattern{.kernel = "*embedding*", .enabled = false}));
  EXPECT_THAT(spec.warnings, IsEmpty());
}

TEST(ParseScheduleJson, LeavesUnsaidWhatIsNotThere) {
  EXPECT_EQ(spec_of("{}"), Spec{});
  EXPECT_FALSE(asks_for_events(spec_of(R"({"warmup": 3})")));
}

TEST(ParseScheduleJson, WarnsOfAnUnknownKeyAndNamesTheNearest) {
  const Spec spec = spec_of(
      "{\n  \"polcy\": 1,\n  \"layers\": {\"a\": {\"foward_events\": [], "
      "\"forward_events\": [\"e\"]}}}");
  EXPECT_THAT(spec.warnings,
              ElementsAre("s.json: line 2, column 3: the key \"polcy\" is not known and is left "
                          "out; did you mean \"policy\"?",
                          "s.json: line 3, column 20: the key \"foward_events\" is not known and "
                          "is left out; did you mean \"forward_events\"?"));
}

TEST(ParseScheduleJson, WarnsOfTwoLayersWithTheSameEvent) {
  const Spec spec = spec_of(R"({"layers": {"a": {"forward_events": ["e"]},
                                           "b": {"forward_events": ["e"]}}})");
  EXPECT_THAT(spec.warnings,
              ElementsAre("s.json: \"e\" occurrence 0 in layer \"b\" is also listed in layer "
                          "\"a\": only right where the two run on different streams"));
}

TEST(WriteScheduleJson, IsReadBackAsItWas) {
  const Spec spec = spec_of(kEverything);
  EXPECT_EQ(spec_of(write_schedule_json(spec)), spec);
  EXPECT_EQ(spec_of(write_schedule_json(Spec{})), Spec{});
}

TEST(WriteScheduleJson, RefusesByNameWhatCannotStandThere) {
  Spec spec;
  spec.layers = {{.layer = "a", .forward_events = {"e\xFF"}}};
  EXPECT_EQ(inline_prof::test::complaint([&] { return write_schedule_json(spec); }),
            "the name \"e\xFF\" cannot stand in a schedule.json: it is not UTF-8");
}

// A list that goes through all keys for each new one takes minutes here.
TEST(ScheduleJson, HasRoomForManyLayers) {
  Spec spec;
  for (int i = 0; i < 20'000; ++i)
    spec.layers.push_back({.layer = "layer" + std::to_string(i), .events = {{"e", i}}});
  EXPECT_EQ(spec_of(write_schedule_json(spec)), spec);
}

void expect_complaints(std::initializer_list<inline_prof::test::BadText> rows) {
  inline_prof::test::expect_complaints(spec_of, rows);
}

TEST(ParseScheduleJsonRefuses, Syntax) {
  expect_complaints(
      {{"{\"layers\": {",
        "s.json: line 1, column 13: the end of the text, expected the rest of a JSON value"},
       {"{\"lay",
        "s.json: line 1, column 6: the end of the text, expected the rest of a JSON value"},
       {"{\"warmup\": 1\n \"repeat\": 2}",
        "s.json: line 2, column 2: \"\\\"repeat\\\"\", expected valid JSON"},
       {"{\"warmup\": 1,}", "s.json: line 1, column 14: \"}\", expected valid JSON"},
       {"{} x", "s.json: line 1, column 4: \"x\", expected valid JSON"},
       {"{\"a\xFF\": 1}", "s.json: line 1, column 2: \"\\\"a\xFF\", expected valid JSON"},
       {"{}\n\0"s, R"(s.json: line 2, column 1: "\x00", expected valid JSON)"},
       {"{\"warmup\": 1e999}",
        "s.json: line 1, column 12: a number too large, expected one that fits"},
       {"{\"layers\": {\"a\": {},\n  \"b\": {}, \"a\": {}}}",
        "s.json: line 2, column 12: the key \"a\" again after line 1, column 13, expected "
        "it once"},
       {std::string(40, '['),
        "s.json: line 1, column 33: values nested more than 32 deep, expected a schedule"}});
}

TEST(ParseScheduleJsonRefuses, Values) {
  expect_complaints(
      {{"[]", "s.json: line 1, column 1: the schedule is an array, expected an object"},
       {"// a comment with , : {\n{\"warmup\": \"10\"}",
        "s.json: line 2, column 12: \"warmup\" is \"10\", expected an integer from 0 to "
        "1000000000"},
       {"{\"warmup\": -9223372036854775808}",
        "s.json: line 1, column 12: \"warmup\" is -9223372036854775808, expected an "
        "integer from 0 to 1000000000"},
       {"{\"repeat\": 1.5}",
        "s.json: line 1, column 12: \"repeat\" is 1.5, expected an integer from 1 to "
        "1000000"},
       {"{\"repeat\": 0}",
        "s.json: line 1, column 12: \"repeat\" is 0, expected an integer from 1 to 1000000"},
       {"{\"mode\": \"fine\"}",
        "s.json: line 1, column 10: \"mode\" is \"fine\", expected fine_grained, one_shot, "
        "data or unit_test"},
       {"{\"policy\": null}", "s.json: line 1, column 12: \"policy\" is null, expected a string"},
       {"{\"seed\": -1}",
        "s.json: line 1, column 10: \"seed\" is -1, expected an integer from 0 to "
        "18446744073709551615"},
       {"{\"budget\": \"1.5\"}",
        "s.json: line 1, column 12: \"budget\" is \"1.5\", expected a text like \"0.1%\" or "
        "\"0.001\", above 0% and up to 100%"},
       {"{\"budget\": \"101%\"}",
        "s.json: line 1, column 12: \"budget\" is \"101%\", expected a text like \"0.1%\" or "
        "\"0.001\", above 0% and up to 100%"},
       {"{\"budget\": \"nan%\"}",
        "s.json: line 1, column 12: \"budget\" is \"nan%\", expected a text like \"0.1%\" or "
        "\"0.001\", above 0% and up to 100%"},
       {"{\"target_ci\": 1}",
        "s.json: line 1, column 15: \"target_ci\" is 1, expected a number between 0 and 1"},
       {"{\"layers\": [ ]}",
        "s.json: line 1, column 12: \"layers\" is an array, expected an object"},
       {"{\"layers\": {\"a\": {\"forward_events\": []}}}",
        "s.json: line 1, column 12: \"layers\" names no event, expected at least one, or no "
        "\"layers\" at all to measure everything met"},
       {"{\"layers\": {\"a\": []}}",
        "s.json: line 1, column 18: the layer \"a\" is an array, expected an object"},
       {"{\"layers\": {\"a\": {\"forward_events\": \"e\"}}}",
        "s.json: line 1, column 37: \"forward_events\" is \"e\", expected an array of event "
        "names"},
       {"{\"layers\": {\"a\": {\"forward_events\": [\"e\", 7]}}}",
        "s.json: line 1, column 43: an event of \"forward_events\" is 7, expected a name"},
       {"{\"layers\": {\"a\": {\"backward_occurrence\": true}}}",
        "s.json: line 1, column 42: \"backward_occurrence\" is true, expected an integer "
        "from 0 to 2147483647"},
       {"{\"layers\": {\"a\": {\"forward_events\": [\"e\", \"e\"]}}}",
        "s.json: line 1, column 18: \"e\" occurrence 0 in layer \"a\" again, expected it "
        "once"},
       {"{\"layers\": {\"a\": {\"events\": [{\"occurrence\": 1}]}}}",
        "s.json: line 1, column 30: an event of \"events\" has no name, expected "
        "\"event\": NAME"},
       {"{\"patterns\": {}}",
        "s.json: line 1, column 14: \"patterns\" is an object, expected an array"},
       {"{\"patterns\": [{\"op\": \"gemm\"}]}",
        "s.json: line 1, column 15: a pattern without \"match\" and \"kernel\", expected at "
        "least one"},
       {"{\"patterns\": [{\"match\": \"\"}]}",
        "s.json: line 1, column 25: \"match\" is \"\", expected a glob such as \"*gemm*\""},
       {"{\"patterns\": [{\"match\": \"a\", \"enabled\": 0}]}",
        "s.json: line 1, column 41: \"enabled\" is 0, expected true or false"}});
}

TEST(ScheduleJson, WithManySlipsNamesTheFirstOnes) {
  std::string text = "{\"warmup\": 3";
  for (int i = 0; i < 100'000; ++i)
    text += ", \"unknwon" + std::to_string(i) + "\": 1";
  const Spec spec = parse_schedule_json(text + "}", "s.json");
  ASSERT_EQ(spec.warnings.size(), 11U);
  EXPECT_THAT(spec.warnings.front(), HasSubstr("unknwon0"));
  EXPECT_EQ(spec.warnings.back(), "s.json: 99990 more such warnings are left out");
}

TEST(ScheduleJson, HasAThousandPatternsAtMost) {
  std::string text = "{\"patterns\": [{\"match\": \"*\"}";
  for (int i = 0; i < 1000; ++i)
    text += ", {\"match\": \"*\"}";
  EXPECT_THAT(
      inline_prof::test::complaint([&] { return parse_schedule_json(text + "]}", "s.json"); }),
      HasSubstr("one more pattern, expected at most 1000"));
}

}  // namespace
}  // namespace inline_prof::schedule
