// Lines on stderr, in a process of its own for each test: lines are counted for a whole process.
#include "sys/log.hpp"

#include "testing.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <unistd.h>

namespace inline_prof::sys {
namespace {

std::string printable(std::string text) {
  make_printable(text);
  return text;
}

TEST(APrintableLine, KeepsWordsInEveryScript) {
  for (const char* text : {"layer.0 (fc)", "r\u00e9seau", "\u6ce8\u610f", "\U0001F600", "~", ""})
    EXPECT_EQ(printable(text), text);
}

TEST(APrintableLine, HasNothingThatATerminalWouldObey) {
  EXPECT_EQ(printable("a\nb\tc\x7f"), "a?b?c?");
  EXPECT_EQ(printable("\x1b[2J\x1b]0;title\a"), "?[2J?]0;title?");
  EXPECT_EQ(printable("\u009b2J"), "??2J") << "C1, in two bytes";
}

TEST(APrintableLine, HasNoBrokenCharacters) {
  EXPECT_EQ(printable("\xc3"), "?") << "cut";
  EXPECT_EQ(printable("\xe6\xb3"), "??") << "cut";
  EXPECT_EQ(printable("\xff\xfe"), "??");
  EXPECT_EQ(printable("\xc0\xaf"), "??") << "longer than need be";
  EXPECT_EQ(printable("\xed\xa0\x80"), "???") << "half of a pair";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "????") << "beyond Unicode";
}

TEST(Lines, AreOneWriteEachAndCutAtAKibibyte) {
  const auto speak = [] {
    errno = 4711;
    say(LogLevel::kWarning, "%d %s", 3, std::string(5000, 'x').c_str());
    _exit(errno == 4711 ? 0 : 1);
  };
  EXPECT_EXIT(speak(), ExitedWithCode(0), "^inline_prof: 3 x{998,1008}\n$");
}

TEST(Lines, OfLevelsThatAreNotWantedAreNotWritten) {
  testing::internal::CaptureStderr();
  say(LogLevel::kInfo, "not by default");
  set_log_level(LogLevel::kQuiet);
  say(LogLevel::kError, "not when quiet");
  set_log_level(LogLevel::kWarning);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Lines, EndAfterSixtyFourAndErrorsHaveRoomOfTheirOwn) {
  const auto speak = [] {
    for (int i = 0; i < 100'000; ++i)
      say(LogLevel::kWarning, "w");
    say(LogLevel::kError, "the reason");
    _exit(0);
  };
  std::string expected = "^";
  for (int i = 0; i < kMostLines; ++i)
    expected += "inline_prof: w\n";
  expected += "inline_prof: 64 lines have been written: further ones are left out\n";
  EXPECT_EXIT(speak(), ExitedWithCode(0), expected + "inline_prof: the reason\n$");
}

TEST(Lines, OfProgressAreNotCounted) {
  const auto speak = [] {
    for (int i = 0; i < 200; ++i)
      say_uncounted("%d", i);
    _exit(0);
  };
  EXPECT_EXIT(speak(), ExitedWithCode(0), "inline_prof: 199\n$");
}

TEST(Lines, GoNowhereElseThanToWhatWasStderr) {
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  const auto speak = [&] {
    note_stderr();
    dup2(pipe_ends[1], STDERR_FILENO);  // a socket or a file of the application's
    say(LogLevel::kError, "not there");
    fcntl(pipe_ends[0], F_SETFL, O_NONBLOCK);
    char byte = 0;
    _exit(read(pipe_ends[0], &byte, 1) < 0 ? 0 : 1);
  };
  EXPECT_EXIT(speak(), ExitedWithCode(0), "^$");
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

TEST(Lines, IntoAPipeWithoutAReaderAreLost) {
  const auto speak = [] {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) _exit(2);
    close(ends[0]);
    dup2(ends[1], STDERR_FILENO);
    note_stderr();
    say(LogLevel::kError, "nobody hears it");
    sigset_t pending;
    sigpending(&pending);
    _exit(sigismember(&pending, SIGPIPE) == 0 ? 0 : 1);
  };
  EXPECT_EXIT(speak(), ExitedWithCode(0), "^$");
}

TEST(Lines, DoNotWaitForAReader) {
  const auto speak = [] {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) _exit(2);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    while (write(ends[1], "x", 1) == 1) {
    }
    fcntl(ends[1], F_SETFL, 0);
    dup2(ends[1], STDERR_FILENO);
    note_stderr();
    say(LogLevel::kError, "would never end");
    _exit(0);
  };
  EXPECT_EXIT(speak(), ExitedWithCode(0), "^$");
}

}  // namespace
}  // namespace inline_prof::sys
