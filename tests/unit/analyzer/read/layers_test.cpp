#include "read/layers.hpp"

#include "profile_builder.hpp"
#include "testing.hpp"

namespace inline_prof::read {
namespace {

TEST(ReadLayers, PutsVariablesInTheirPlaces) {
  const Layers layers =
      read_layers(R"({"let":{"B":6912},"rules":[{"match":"TopMLP.fc5.*","layer":"fc5",)"
                  R"("op":{"kind":"gemm","m":"B","n":1024,"a_type":"f16"}}]})",
                  "l.json");
  ASSERT_EQ(layers.rules.size(), 1U);
  ASSERT_TRUE(layers.rules[0].op);
  EXPECT_EQ(layers.rules[0].op->get<std::int64_t>("m"), 6912);
  EXPECT_EQ(layers.rules[0].op->get<std::int64_t>("n"), 1024);
  EXPECT_EQ(layers.rules[0].op->get<std::string>("a_type"), "f16");
  EXPECT_EQ(layers.rules[0].op->source, "layers file");
}

TEST(ReadLayersRefuses, AndSaysWhere) {
  const auto read = [](const std::string& text) { return read_layers(text, "l.json"); };
  test::expect_complaints(
      read,
      {{R"({"let":{}})", R"(l.json: /: missing "rules")"},
       {R"({"rule":[]})", R"(l.json: /rule: unknown, expected "let" or "rules")"},
       {R"({"rules":[{"match":"*","Layer":"x"}]})",
        R"(l.json: /rules/0/Layer: unknown, expected "match", "layer", "op" or "comment")"},
       {R"({"rules":[{"layer":"x"}]})", R"(l.json: /rules/0: missing "match")"},
       {R"({"rules":[{"match":"*"}]})",
        R"(l.json: /rules/0: expected "layer" or "op" beside "match")"},
       {R"({"rules":[{"match":"*","op":{"kind":"gemm","m":"B"}}]})",
        R"(l.json: /rules/0/op/m: expected an integer >= 0 or a name from "let", found "B")"},
       {R"({"let":{"B":-1},"rules":[]})", "l.json: /let/B: expected an integer >= 0, found -1"},
       {R"({"rules":[{"match":"*","op":{"kind":"gem"}}]})",
        "l.json: /rules/0/op/kind: \"gem\" is no kind of operation; known are gemm, "
        "grouped_gemm, conv, embedding, attention, norm, softmax, collective, memory, "
        "copy, cast, operator, region"}});
}

TEST(ApplyLayers, TheFirstRuleThatFitsWins) {
  Profile profile = profile_of({EventBuilder("fprop.gemm", 0, 1).layer("fc1")}, 100);
  const Layers layers{.file = "l.json",
                      .rules = {{.match = "fc2.*.gemm", .layer = "one", .op = {}},
                                {.match = "fc1.fprop.gemm", .layer = "two", .op = {}},
                                {.match = "fc1.*", .layer = "three", .op = {}}}};
  EXPECT_THAT(apply_layers(layers, profile), ElementsAre(0, 2));
  EXPECT_EQ(profile.events[0].layer, "two");
}

TEST(ApplyLayers, WhatTheLibrarySawIsNotReplaced) {
  Profile profile = profile_of({EventBuilder("a", 0, 1).op(memory_op(1, 2))}, 100);
  const Layers layers{.file = "l.json",
                      .rules = {{.match = "a", .layer = "", .op = test::op_of_kind("gemm")}}};
  apply_layers(layers, profile);
  EXPECT_EQ(profile.events[0].op->kind, "memory");
}

TEST(ARule, MayNameTheOccurrence) {
  const auto fits = [](const char* match, const Event& event) {
    Profile profile = profile_of({event}, 100);
    return apply_layers({.file = "l.json", .rules = {{.match = match, .layer = "x", .op = {}}}},
                        profile)
        .empty();
  };
  const Event third = EventBuilder("fprop", 0, 1).occurrence(3);
  EXPECT_TRUE(fits("fprop", third));
  EXPECT_TRUE(fits("fprop#3", third));
  EXPECT_FALSE(fits("fprop#2", third));
  const Event in_layer = EventBuilder("fprop", 0, 1).layer("fc1").occurrence(3);
  EXPECT_TRUE(fits("fc1.*#3", in_layer));
  EXPECT_FALSE(fits("fprop#3", in_layer));
}

}  // namespace
}  // namespace inline_prof::read
