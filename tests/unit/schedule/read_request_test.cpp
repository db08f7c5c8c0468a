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

}  // namespace
}  // namespace inline_prof::schedule
