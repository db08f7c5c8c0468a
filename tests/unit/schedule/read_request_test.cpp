#include "schedule/read_request.hpp"

#include "temporary_folder.hpp"
#include "testing.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace inline_prof::schedule {
namespace {

constexpr const char* kScheduleFile = "10\na 11 L 0\n";

TEST(ParseRequest, TellsTheFormatByTheName) {
  EXPECT_TRUE(std::holds_alternative<Spec>(parse_request("{}", "s.json")));
  EXPECT_TRUE(std::holds_alternative<SampleList>(parse_request(kScheduleFile, "prof.schedule")));
  EXPECT_TRUE(std::holds_alternative<EventNames>(parse_request("12\n", "prof.events")));
}

TEST(ParseRequest, TellsTheFormatByTheContentWhereTheNameSaysNothing) {
  EXPECT_TRUE(std::holds_alternative<Spec>(parse_request(" \n{}", "-")));
  EXPECT_TRUE(std::holds_alternative<Spec>(parse_request("\xEF\xBB\xBF{}", "-")));
  EXPECT_TRUE(std::holds_alternative<Spec>(parse_request("// why\n{}", "-")));
  EXPECT_TRUE(std::holds_alternative<SampleList>(parse_request(kScheduleFile, "-")));
  EXPECT_TRUE(std::holds_alternative<SampleList>(parse_request("\r\n10\r\na 11 L 0", "-")));
  EXPECT_TRUE(std::holds_alternative<EventNames>(parse_request("gemm\n", "-")));
}

// Read as a prof.events, this would measure nothing without a word.
TEST(ParseRequest, DoesNotTakeAProfScheduleWithoutItsFirstLineForEvents) {
  EXPECT_EQ(inline_prof::test::complaint([] { return parse_request("a 11 L 0\n", "-"); }),
            "-: line 1: a sample, as in a prof.schedule, expected an event name; the first line of "
            "a prof.schedule is the number of warm-up iterations");
}

class ReadRequest : public inline_prof::test::TemporaryFolder {
 protected:
  static std::string complaint(const std::string& path, Accept accept = Accept::kRegularFile) {
    return inline_prof::test::complaint([&] { return read_request(path, accept); });
  }
};

TEST_F(ReadRequest, ReadsAFile) {
  EXPECT_EQ(std::get<SampleList>(read_request(file("x", kScheduleFile))).warmup, 10);
}

// Opening a pipe as usual would wait for a writer: the application would hang.
TEST_F(ReadRequest, RefusesWhatIsNoRegularFileAtOnce) {
  const std::string pipe = path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string empty = file("x.json", "");
  const std::string huge = file("huge", "10\n");
  ASSERT_EQ(truncate(huge.c_str(), std::int64_t{1} << 40), 0);  // sparse: takes no room
  for (const auto& [name, expected] : std::vector<std::pair<std::string, std::string>>{
           {path("x"), "open: No such file or directory, expected a readable file"},
           {path(""), "type: a directory, expected a regular file"},
           {pipe, "type: a pipe, expected a regular file"},
           {"/dev/zero", "type: a character device, expected a regular file"},
           {empty, "size: 0 bytes, expected a schedule"},
           {huge,
            "size: 1099511627776 bytes, expected at most 67108864: larger than any file of this "
            "kind"},
       }) {
    std::string whole = name;
    whole.append(": ").append(expected);
    EXPECT_EQ(complaint(name), whole);
  }
  EXPECT_EQ(complaint(path(""), Accept::kAnyStream),
            path("") + ": type: a directory, expected a regular file");
}

TEST_F(ReadRequest, RefusesAFileThatMayNotBeRead) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const std::string secret = file("x", kScheduleFile);
  ASSERT_EQ(chmod(secret.c_str(), 0), 0);
  EXPECT_EQ(complaint(secret), secret + ": open: Permission denied, expected a readable file");
}

TEST_F(ReadRequest, RefusesASocket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = path("socket");
  ASSERT_LT(name.size(), sizeof(address.sun_path));
  std::memcpy(address.sun_path, name.c_str(), name.size() + 1);
  const int socket_number = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(socket_number, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(complaint(name), name + ": open: No such device or address, expected a readable file");
  close(socket_number);
}

TEST_F(ReadRequest, RefusesAPathWithAZeroByte) {
  EXPECT_EQ(complaint(std::string("a\0b", 3)),
            "\"a\\x00b\": open: a zero byte in the name, expected a path");
}

TEST_F(ReadRequest, StopsReadingAnEndlessDeviceInAProgramOfOurOwn) {
  EXPECT_EQ(complaint("/dev/zero", Accept::kAnyStream),
            "/dev/zero: size: more than 67108864 bytes, expected at most 67108864: larger than any "
            "file of this kind");
}

TEST_F(ReadRequest, ReadsFilesWhoseSizeIsNotKnownBefore) {
  EXPECT_EQ(read_text("/proc/self/comm", Accept::kRegularFile).empty(), false);
}

class FindRequest : public inline_prof::test::TemporaryFolder {
 protected:
  FindRequest() : start_(std::filesystem::current_path()) {
    std::filesystem::create_directory(path("work"));
    std::filesystem::create_directory(path("prof"));
    std::filesystem::current_path(path("work"));
  }
  ~FindRequest() override { std::filesystem::current_path(start_); }

 private:
  std::filesystem::path start_;
};

TEST_F(FindRequest, LooksInTheDocumentedOrder) {
  EXPECT_EQ(find_request("", path("prof")).path, "");
  file("work/prof.events", "a\n");
  EXPECT_EQ(find_request("", path("prof")).path, "prof.events");
  file("work/prof.schedule", kScheduleFile);
  EXPECT_EQ(find_request("", path("prof")).path, "prof.schedule");
  file("work/schedule.json", "{}");
  EXPECT_EQ(find_request("", path("prof")).path, "schedule.json");
  file("prof/prof.events", "a\n");
  EXPECT_EQ(find_request("", path("prof")).path, path("prof/prof.events"));
  file("prof/prof.schedule", kScheduleFile);
  EXPECT_EQ(find_request("", path("prof")).path, path("prof/prof.schedule"));
  file("prof/schedule.json", "{}");
  EXPECT_EQ(find_request("", path("prof")).path, path("prof/schedule.json"));
  const FoundRequest named = find_request(file("mine", "b\n"), path("prof"));
  EXPECT_EQ(named.path, path("mine"));
  EXPECT_EQ(std::get<EventNames>(named.request).names.front(), "b");
}

TEST_F(FindRequest, MeasuresEverythingWhereThereIsNothing) {
  EXPECT_TRUE(std::holds_alternative<std::monostate>(find_request("", "").request));
}

TEST_F(FindRequest, DoesNotFallBackOnTheNext) {
  file("work/prof.events", "a\n");
  EXPECT_EQ(inline_prof::test::complaint([&] { return find_request("mine", ""); }),
            "mine: open: No such file or directory, expected a readable file");
  file("work/schedule.json", "{");
  EXPECT_EQ(inline_prof::test::complaint([&] { return find_request("", ""); }),
            "schedule.json: line 1, column 2: the end of the text, expected the rest of a JSON "
            "value");
}

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
