#include "schedule/read_request.hpp"
#include "testing.hpp"

namespace inline_prof::schedule {
namespace {
using namespace std::string_literals;  // some inputs hold zero bytes

SampleList schedule_of(std::string_view text) {
  return parse_prof_schedule(text, "p.schedule");
}

TEST(ParseProfSchedule, ReadsWhatTheOriginalGeneratorWrote) {
  // No newline at the end: the original put one before each line.
  const SampleList list = schedule_of(
      "10\nfused_fully_connected.fprop 11 BottomMLP.fc1 0\n"
      "fused_fully_connected.bprop 12 BottomMLP.fc1 6");
  EXPECT_EQ(list.warmup, 10);
  EXPECT_THAT(list.samples,
              ElementsAre(Sample{11, {"fused_fully_connected.fprop", "BottomMLP.fc1", 0}},
                          Sample{12, {"fused_fully_connected.bprop", "BottomMLP.fc1", 6}}));
}

TEST(ParseProfSchedule, ReadsADashAsNoLayer) {
  EXPECT_EQ(schedule_of("0\ngemm 1 - 3\n").samples.front().key, (EventKey{"gemm", "", 3}));
}

TEST(ParseProfSchedule, SkipsWhatOtherSystemsAdd) {
  const SampleList plain = schedule_of("10\na 11 L 0\nb 12 L 0\n");
  EXPECT_EQ(schedule_of("10\r\na 11 L 0\r\nb 12 L 0\r\n"), plain);
  EXPECT_EQ(schedule_of("\xEF\xBB\xBF\n10\n\na 11 L 0\nb 12 L 0\n\n"), plain);
}

TEST(ParseProfSchedule, AllowsGaps) {
  EXPECT_EQ(schedule_of("10\na 500 L 0\n").samples.front().iteration, 500);
}

TEST(WriteProfSchedule, IsReadBackAsItWas) {
  const SampleList list{.warmup = 3,
                        .samples = {{4, {"a.b", "Layer", 0}}, {7, {"\xC3\xA4", "", 2147483647}}}};
  EXPECT_EQ(write_prof_schedule(list), "3\na.b 4 Layer 0\n\xC3\xA4 7 - 2147483647\n");
  EXPECT_EQ(schedule_of(write_prof_schedule(list)), list);
}

TEST(WriteProfSchedule, RefusesByNameWhatCannotStandThere) {
  const auto complaint = [](const EventKey& key, std::int64_t iteration = 11) {
    return inline_prof::test::complaint([&] {
      return write_prof_schedule({.warmup = 10, .samples = {{iteration, key}}});
    });
  };
  EXPECT_EQ(
      complaint({"void f(int, int)", "L", 0}),
      "the event \"void f(int, int)\" cannot stand in a prof.schedule, where a name is a word "
      "without blanks; a schedule.json can carry it");
  EXPECT_EQ(complaint({"e", "two words", 0}),
            "the layer \"two words\" cannot stand in a prof.schedule, where a name is a word "
            "without blanks; a schedule.json can carry it");
  EXPECT_EQ(complaint({"e", "-", 0}),
            "the layer \"-\" cannot stand in a prof.schedule, where it means no layer");
  EXPECT_EQ(complaint({"e", "L", 0}, 10),
            "the sample of \"e\" occurrence 0 in layer \"L\" in iteration 10 does not come after "
            "iteration 10");
  EXPECT_EQ(inline_prof::test::complaint([] { return write_prof_schedule({.warmup = 10}); }),
            "a prof.schedule needs a warm-up of 0 to 1000000000 and at least one sample");
}

TEST(ParseProfScheduleRefuses, AndSaysWhere) {
  inline_prof::test::expect_complaints(
      [](const std::string& text) { return schedule_of(text); },
      {{"", "p.schedule: line 1: no text, expected the number of warm-up iterations"},
       {"\n\n", "p.schedule: line 1: no text, expected the number of warm-up iterations"},
       {"a 11 L 0\n",
        "p.schedule: line 1: \"a 11 L 0\", expected the number of warm-up iterations, an "
        "integer from 0 to 1000000000"},
       {"-1\na 11 L 0\n",
        "p.schedule: line 1: \"-1\", expected the number of warm-up iterations, an integer "
        "from 0 to 1000000000"},
       {"99999999999999999999\n",
        "p.schedule: line 1: \"99999999999999999999\", expected the number of warm-up "
        "iterations, an integer from 0 to 1000000000"},
       {"10\n",
        "p.schedule: line 1: the last line, expected a line for each sample after it: "
        "EVENT ITERATION LAYER OCCURRENCE, with one blank between two"},
       {"10\na 11 L\n",
        "p.schedule: line 2: 3 fields, expected 4: EVENT ITERATION LAYER OCCURRENCE, with "
        "one blank between two"},
       {"10\na 11 L 0 0\n",
        "p.schedule: line 2: 5 fields, expected 4: EVENT ITERATION LAYER OCCURRENCE, with "
        "one blank between two"},
       {"10\na  11 L 0\n",
        "p.schedule: line 2: a blank too many, expected EVENT ITERATION LAYER OCCURRENCE, "
        "with one blank between two"},
       {"10\na 11 L 0 \n",
        "p.schedule: line 2: a blank too many, expected EVENT ITERATION LAYER OCCURRENCE, "
        "with one blank between two"},
       {"10\na\t11 L 0\n", "p.schedule: line 2: a tab, expected blanks only"},
       {"10\na\0b 11 L 0\n"s, "p.schedule: line 2: the control character \"\\x00\", expected text"},
       {"10\na\rb 11 L 0\n", "p.schedule: line 2: the control character \"\\x0d\", expected text"},
       {"10\na 11x L 0\n",
        "p.schedule: line 2: iteration \"11x\", expected an integer from 11 (the first "
        "after the warm-up) to 1000000000000"},
       {"10\na 10 L 0\n",
        "p.schedule: line 2: iteration \"10\", expected an integer from 11 (the first "
        "after the warm-up) to 1000000000000"},
       {"10\na 11 L 0\n\nb 11 L 0\n",
        "p.schedule: line 4: iteration 11 again after line 2, expected one event an "
        "iteration"},
       {"10\na 12 L 0\nb 11 L 0\n",
        "p.schedule: line 3: iteration 11 after iteration 12 of line 2, expected ascending "
        "iterations"},
       {"10\na 11 L -1\n",
        "p.schedule: line 2: occurrence \"-1\", expected an integer from 0 to 2147483647"},
       {"10\na 11 L 2147483648\n",
        "p.schedule: line 2: occurrence \"2147483648\", expected an integer from 0 to "
        "2147483647"},
       {"10\n" + std::string(65537, 'a') + " 11 L 0\n",
        "p.schedule: line 2: 65544 bytes, expected at most 65536"}});
}

TEST(ParseProfEvents, KeepsNamesAsTheyStand) {
  EXPECT_THAT(parse_prof_events("gemm\nvoid f<int>(int*, int)\n\nlast", "p.events").names,
              ElementsAre("gemm", "void f<int>(int*, int)", "last"));
}

TEST(WriteProfEvents, IsReadBackAsItWas) {
  const EventNames events{.names = {"gemm", "void f(int, int)", "12"}};
  EXPECT_EQ(parse_prof_events(write_prof_events(events), "p.events"), events);
}

TEST(WriteProfEvents, AFirstNameThatBeginsWithAByteOrderMarkKeepsIt) {
  const EventNames events{.names = {"\xEF\xBB\xBFgemm", "last"}};
  EXPECT_EQ(parse_prof_events(write_prof_events(events), "p.events"), events);
}

TEST(WriteProfEvents, RefusesByNameWhatCannotStandThere) {
  EXPECT_EQ(inline_prof::test::complaint([] { return write_prof_events({.names = {"a\nb"}}); }),
            "the event \"a\\x0ab\" cannot stand in a prof.events; a schedule.json can carry it");
}

TEST(ParseProfEventsRefuses, AndSaysWhere) {
  inline_prof::test::expect_complaints(
      [](const std::string& text) { return parse_prof_events(text, "p.events"); },
      {{"\n", "p.events: line 1: no text, expected an event name on each line"},
       {" gemm\n", "p.events: line 1: a blank at the start or the end, expected an event name"},
       {"gemm\n \n", "p.events: line 2: a blank at the start or the end, expected an event name"},
       {"gemm\n# relu\n",
        "p.events: line 2: a '#', expected an event name: only a schedule.json can hold "
        "comments (// ...)"},
       {"gemm 11 L 0\n",
        "p.events: line 1: a sample, as in a prof.schedule, expected an event name; the "
        "first line of a prof.schedule is the number of warm-up iterations"},
       {"ge\x01mm\n", "p.events: line 1: the control character \"\\x01\", expected text"}});
}

}  // namespace
}  // namespace inline_prof::schedule
