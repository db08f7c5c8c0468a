// Runs the program prof-schedule.
#include "schedule/read_request.hpp"
#include "schedule/schedule_json.hpp"
#include "temporary_folder.hpp"
#include "testing.hpp"

#include <nlohmann/json.hpp>

#include <sys/wait.h>

namespace inline_prof::schedule {
namespace {

constexpr const char* kSpec = R"({ "repeat": 2, "layers": {
  "fc1": { "forward_events": ["fc.fprop"], "backward_events": ["fc.bprop"],
           "forward_occurrence": 0, "backward_occurrence": 1 } } })";

constexpr const char* kProf = R"json({ "iter_time_ms": [4, 5, 6], "events": [
  { "event_name": "late", "layer_name": "", "device_id": 0, "start_index": 8, "end_index": 9,
    "met_times_within_this_stream": 0, "stream": "0x0",
    "measured_times_ms": [], "kernel_name": "void k(int, int)" },
  { "event_name": "fc.fprop", "layer_name": "fc1", "device_id": 0, "start_index": 0, "end_index": 1,
    "met_times_within_this_stream": 0, "stream": "0x0",
    "measured_times_ms": [], "kernel_name": "sm90_gemm" },
  { "event_name": "fc.fprop", "layer_name": "fc1", "device_id": 1, "start_index": 2, "end_index": 3,
    "met_times_within_this_stream": 0, "stream": "0x0",
    "measured_times_ms": [], "kernel_name": "sm90_gemm" },
  { "event_name": "alloc", "layer_name": "", "device_id": 0, "start_index": 4, "end_index": 5,
    "met_times_within_this_stream": 0, "stream": "0x0",
    "measured_times_ms": [], "flags": ["graph_node", "not_measurable"] } ],
  "schema": "inline_prof/1" })json";

struct Outcome {
  int exit_status = -1;
  std::string output;  // standard output
  std::string words;   // standard error
};

class ProfSchedule : public inline_prof::test::TemporaryFolder {
 protected:
  ProfSchedule() { file("s.json", kSpec); }

  // `arguments` go through the shell, in the test's folder.
  [[nodiscard]] Outcome run(const std::string& arguments) const {
    return run_commands(kProgram + arguments + " >out.txt 2>err.txt </dev/null");
  }

  [[nodiscard]] Outcome run_commands(const std::string& commands) const {
    const int status = std::system(("cd '" + path("") + "' && " + commands).c_str());
    return {.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            .output = content("out.txt"),
            .words = content("err.txt")};
  }

  const std::string kProgram = "'" PROF_SCHEDULE_PROGRAM "' ";
};

TEST_F(ProfSchedule, ExpandsAScheduleJson) {
  const Outcome result = run("s.json -o prof.schedule --iteration-time 500");
  EXPECT_EQ(result.exit_status, 0) << result.words;
  EXPECT_EQ(result.output,
            "events      2\n"
            "samples     4 (2 of each event)\n"
            "iterations  14 (10 of warm-up, measuring from 11)\n"
            "time        7 s at 500 ms an iteration\n");
  EXPECT_EQ(result.words, "");
  EXPECT_EQ(content("prof.schedule"),
            "10\nfc.fprop 11 fc1 0\nfc.fprop 12 fc1 0\nfc.bprop 13 fc1 1\nfc.bprop 14 fc1 1\n");
}

TEST_F(ProfSchedule, LetsTheCommandLineBeatTheFile) {
  const Outcome result = run("s.json --warmup 3 --repeat 4 --policy interleaved --seed 5 -o -");
  const SampleList list = parse_prof_schedule(result.output, "out");
  EXPECT_EQ(list.warmup, 3);
  EXPECT_EQ(list.samples.size(), 8U);
  EXPECT_NE(list.samples[0].key, list.samples[1].key);  // one event after the other in a round
  EXPECT_THAT(result.words, StartsWith("events      2\n"));
}

TEST_F(ProfSchedule, ChecksAProfScheduleAndListsItsEvents) {
  file("prof.schedule", "10\nb 11 - 0\na 12 L 0\nb 15 - 0\n");
  const Outcome result = run("prof.schedule --list");
  EXPECT_EQ(result.exit_status, 0) << result.words;
  EXPECT_EQ(result.output,
            "events      2\n"
            "samples     3 (1 to 2 of each event)\n"
            "iterations  15 (10 of warm-up, measuring from 11)\n"
            "\n"
            "samples     first      last occurrence  layer  event\n"
            "      2        11        15          0  -      b\n"
            "      1        12        12          0  L      a\n");
}

TEST_F(ProfSchedule, ListsTheOrderInWhichARunMeasures) {
  const std::string in_rounds = run("s.json --list --policy interleaved").output;
  EXPECT_EQ(run("s.json --list").output, in_rounds);
  EXPECT_NE(run("s.json --list --policy in_order").output, in_rounds);
}

TEST_F(ProfSchedule, SaysTheSameAsJson) {
  file("prof.schedule", "10\nb 11 - 0\na 12 L 0\nb 15 - 0\n");
  const auto json =
      nlohmann::json::parse(run("prof.schedule --format json --iteration-time 2").output);
  EXPECT_EQ(json["warmup"], 10);
  EXPECT_EQ(json["samples"], 3);
  EXPECT_EQ(json["iterations"], 15);
  EXPECT_EQ(json["first_measured_iteration"], 11);
  EXPECT_EQ(json["iteration_time_ms"], 2.0);
  EXPECT_EQ(json["total_time_s"], 0.03);
  EXPECT_EQ(json["events"][1]["layer"], "L");
  EXPECT_EQ(json["events"][0]["last_iteration"], 15);
}

TEST_F(ProfSchedule, ChecksAProfEvents) {
  file("prof.events", "gemm\nrelu\n");
  EXPECT_EQ(run("prof.events").output, "names       2\n");
  const Outcome result = run("prof.events -o prof.schedule");
  EXPECT_EQ(result.exit_status, 2);
  EXPECT_THAT(result.words, HasSubstr("names no occurrences: -o also needs --from prof.json"));
}

TEST_F(ProfSchedule, ProposesWhatAnEarlierRunHasMet) {
  file("prof.json", kProf);
  const Outcome result = run("--from prof.json -o prof.schedule --repeat 1");
  EXPECT_EQ(result.exit_status, 0) << result.words;
  EXPECT_EQ(content("prof.schedule"), "10\nfc.fprop 11 fc1 0\nlate 12 - 0\n");
  EXPECT_THAT(result.output, HasSubstr("time        0.06 s at 5 ms an iteration\n"));
  EXPECT_EQ(result.words,
            "prof-schedule: prof.json: 1 events left out that could not be measured\n");
}

TEST_F(ProfSchedule, ReadsTheNamesOfTheFirstGeneration) {
  file("prof.json", R"({"host_name": "n", "iter_time_ms": [3], "events": [
    {"name": "fc.fprop", "layer_name": "fc1", "same_name_events_occured_order_in_code": 2,
     "device_id": 0, "stream": "0x0", "start_index": 0, "end_index": 1,
     "measured_times_ms": []}]})");
  EXPECT_EQ(run("--from prof.json -o - --repeat 1").output, "10\nfc.fprop 11 fc1 2\n");
}

TEST_F(ProfSchedule, TakesIterationTimesFromAOneShotFile) {
  file("h.one_shot.json", R"({"host_name": "n", "events": [
    {"event_name": "iteration", "met_times_within_this_stream": 0, "measured_times_ms": [7, 8, 9],
     "device_id": 0, "stream": "0x0", "start_index": 0, "end_index": 3},
    {"event_name": "fc", "met_times_within_this_stream": 0, "measured_times_ms": [1],
     "device_id": 0, "stream": "0x0", "start_index": 1, "end_index": 2}]})");
  EXPECT_THAT(run("--from h.one_shot.json").output,
              AllOf(HasSubstr("events      1\n"), HasSubstr("at 8 ms an iteration\n")));
}

TEST_F(ProfSchedule, ResolvesARequestAgainstAnEarlierRun) {
  file("prof.json", kProf);
  file("s.json", R"({"repeat": 1, "layers": {"fc9": {"forward_events": ["gone"]}},
                     "patterns": [{"kernel": "*gemm*"}, {"match": "nothing*"}]})");
  const Outcome result = run("s.json --from prof.json -o -");
  EXPECT_EQ(result.output, "10\nfc.fprop 11 fc1 0\n");
  EXPECT_THAT(result.words, HasSubstr("not met: \"gone\" occurrence 0 in layer \"fc9\""));
  EXPECT_THAT(result.words, HasSubstr("not met: the pattern match \"nothing*\""));
}

TEST_F(ProfSchedule, WritesAScheduleJsonThatSaysTheSame) {
  file("prof.json", kProf);
  ASSERT_EQ(run("--from prof.json --policy in_order -o proposal.json").exit_status, 0);
  ASSERT_EQ(run("--from prof.json -o prof.schedule").exit_status, 0);
  EXPECT_EQ(run("proposal.json -o -").output, content("prof.schedule"));
  ASSERT_EQ(run("--from prof.json -o rounds.json").exit_status, 0);
  EXPECT_THAT(content("rounds.json"), HasSubstr("\"interleaved\""));
}

TEST_F(ProfSchedule, WritesAProfEvents) {
  ASSERT_EQ(run("s.json -o prof.events").exit_status, 0);
  EXPECT_EQ(content("prof.events"), "fc.fprop\nfc.bprop\n");
}

TEST_F(ProfSchedule, LeavesOutPatternsThatNeedARunAndSaysSo) {
  file("s.json", R"({"layers": {"fc1": {"forward_events": ["a", "b"]}},
                     "patterns": [{"match": "*gemm*"}, {"match": "fc1.b", "enabled": false}]})");
  const Outcome result = run("s.json --repeat 1 -o -");
  EXPECT_EQ(result.output, "10\na 11 fc1 0\n");
  EXPECT_THAT(result.words, HasSubstr("1 of the patterns left out"));
}

TEST_F(ProfSchedule, ReadsPipes) {
  for (const char* input : {"-", "/dev/stdin"}) {
    const Outcome result = run_commands("cat s.json | " + kProgram + input + " >out.txt");
    EXPECT_THAT(result.output, StartsWith("events      2\n")) << input;
  }
  EXPECT_EQ(run_commands("mkfifo pipe && (cat s.json >pipe &) && " + kProgram + "pipe >out.txt")
                .exit_status,
            0);
}

TEST_F(ProfSchedule, NeverReplacesAFileUnlessForced) {
  file("prof.schedule", "mine");
  const Outcome result = run("s.json -o prof.schedule");
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_EQ(result.words, "prof-schedule: prof.schedule: exists already; --force replaces it\n");
  EXPECT_EQ(content("prof.schedule"), "mine");

  EXPECT_EQ(run("s.json -o prof.schedule --force").exit_status, 0);
  EXPECT_THAT(content("prof.schedule"), StartsWith("10\n"));
}

TEST_F(ProfSchedule, NeverReplacesItsInput) {
  for (const char* output : {"-o s.json", "-o ./s.json", "--output=s.json"}) {
    const Outcome result = run("s.json --force " + std::string(output));
    EXPECT_EQ(result.exit_status, 1) << output;
    EXPECT_THAT(result.words, HasSubstr("s.json: is one of the inputs and is left alone\n"));
    EXPECT_EQ(content("s.json"), kSpec);
  }
}

TEST_F(ProfSchedule, ReplacesNothingButRegularFiles) {
  EXPECT_EQ(run("s.json --force -o /dev/null").words,
            "prof-schedule: /dev/null: is not a regular file and is left alone\n");
  std::filesystem::create_directory(path("folder"));
  EXPECT_EQ(run("s.json --force -o folder").exit_status, 1);
}

TEST_F(ProfSchedule, KeepsALinkALink) {
  file("real", "mine");
  std::filesystem::create_symlink("real", path("link"));
  EXPECT_EQ(run("s.json --force -o link").exit_status, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_THAT(content("real"), StartsWith("10\n"));
}

TEST_F(ProfSchedule, LeavesNothingBehindWhereItCannotWrite) {
  const Outcome result = run("s.json -o missing/prof.schedule");
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_THAT(result.words, HasSubstr("No such file or directory"));
  file("s.json", R"({"layers": {"a b": {"forward_events": ["e"]}}})");
  EXPECT_EQ(run("s.json -o prof.schedule").exit_status, 1);
  EXPECT_FALSE(std::filesystem::exists(path("prof.schedule")));
}

TEST_F(ProfSchedule, SaysWhenStandardOutputIsFull) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const Outcome result = run_commands(kProgram + "s.json -o - >/dev/full 2>err.txt");
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_EQ(result.words, "prof-schedule: standard output: No space left on device\n");
}

TEST_F(ProfSchedule, SaysWithinWhatBoundsAdaptiveWillBe) {
  file("s.json", R"({"policy": "adaptive", "repeat": 20, "layers": {
      "fc1": {"forward_events": ["gemm", "relu"]}, "fc2": {"forward_events": ["gemm", "relu"]},
      "fc3": {"forward_events": ["gemm", "relu"]}, "loss": {"forward_events": ["loss"]}}})");
  // 7 events in 3 classes; 0.1 % of 12 ms are two pairs of 6 us.
  EXPECT_EQ(run("s.json --iteration-time 12 --list").output,
            "events      7 in 3 classes\n"
            "samples     18 to 140, until medians are known to 3 %\n"
            "pairs       2 an iteration (0.1 % of it, at 6 us a pair)\n"
            "iterations  19 to 80 (10 of warm-up, measuring from 11)\n"
            "time        0.228 s to 0.96 s at 12 ms an iteration\n"
            "\n events  class\n"
            "      3  fc*.gemm\n"
            "      3  fc*.relu\n"
            "      1  loss.loss\n");
  EXPECT_THAT(run("s.json --iteration-time 2 --budget 0.1% --target-ci 0.01").output,
              AllOf(HasSubstr("known to 1 %\n"), HasSubstr("pairs       one every 3 iterations")));
  EXPECT_THAT(run("s.json").output, HasSubstr("pairs       one an iteration (assumed"));
  EXPECT_THAT(run("s.json --format json").output,
              AllOf(HasSubstr("\"class\": \"fc*.gemm\""), HasSubstr("adaptive")));
}

TEST_F(ProfSchedule, WritesAdaptiveAsJsonAlone) {
  file("s.json", R"({"policy": "adaptive", "layers": {"a": {"forward_events": ["e"]}}})");
  EXPECT_EQ(run("s.json -o p.schedule").exit_status, 2);
  EXPECT_THAT(run("s.json -o p.schedule").words, HasSubstr("cannot stand in a prof.schedule"));
  EXPECT_EQ(run("s.json --budget 1% -o t.json").exit_status, 0);
  EXPECT_THAT(run("t.json").output, HasSubstr("samples     6 to 50"));
}

TEST_F(ProfSchedule, GivesOneForInputThatCannotBeUsed) {
  EXPECT_EQ(run("nothing.json").words,
            "prof-schedule: nothing.json: open: No such file or directory, expected a readable "
            "file\n");
  EXPECT_EQ(run(".").exit_status, 1);
  file("s.json", "{}");
  EXPECT_EQ(run("s.json").exit_status, 1);
  file("a.prof.json", R"({"schema": "inline_prof/1", "iter_time_ms": [], "events": []})");
  EXPECT_EQ(run("a.prof.json").words,
            "prof-schedule: a.prof.json: line 1, column 1: what looks like a prof.json, expected a "
            "schedule; prof-schedule --from makes one\n");
  file("prof.json", R"({"events": [{"event_name": 7}]})");
  EXPECT_EQ(run("--from prof.json").words,
            "prof-schedule: prof.json: /events/0/event_name: expected a string, found 7\n");
  file("prof.json", R"({"events": )");
  EXPECT_THAT(run("--from prof.json").words,
              StartsWith("prof-schedule: prof.json: byte 12: not valid JSON"));
  file("huge", "10\n");
  std::filesystem::resize_file(path("huge"), std::uintmax_t{1} << 40);
  EXPECT_THAT(run("huge").words, HasSubstr("1099511627776 bytes, expected at most 67108864"));
}

TEST_F(ProfSchedule, GivesTwoForAWrongCommandLine) {
  for (const char* arguments :
       {"", "--no-such-option", "s.json other.json", "s.json --repeat 0", "s.json --warmup -1",
        "s.json --warmup ten", "s.json --policy greedy", "s.json --budget 2",
        "s.json --target-ci 1", "s.json --seed -1", "s.json --iteration-time 0",
        "s.json --format xml", "s.json -o", "- --from -"}) {
    const Outcome result = run(arguments);
    EXPECT_EQ(result.exit_status, 2) << arguments;
    EXPECT_EQ(result.output, "") << arguments;
    EXPECT_THAT(result.words, StartsWith("prof-schedule: ")) << arguments;
  }
}

TEST_F(ProfSchedule, SurvivesAProfJsonCutOffAnywhere) {
  const std::string whole = kProf;
  for (std::size_t length = 0; length < whole.size(); length += 37) {
    file("prof.json", whole.substr(0, length));
    EXPECT_EQ(run("--from prof.json").exit_status, 1) << length;
  }
}

}  // namespace
}  // namespace inline_prof::schedule
