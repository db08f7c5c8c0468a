// A command that the application does not notice.
#include "sys/detached_command.hpp"

#include "temporary_folder.hpp"
#include "testing.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace inline_prof::sys {
namespace {

std::atomic<int> child_signals{0};

std::string eventually_in(const std::filesystem::path& file) {
  for (int waited = 0; waited < 10'000 && !std::filesystem::exists(file); ++waited)
    usleep(1000);
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

class ADetachedCommand : public test::TemporaryFolder {
 protected:
  void SetUp() override {
    child_signals = 0;
    struct sigaction counting {};
    counting.sa_handler = [](int) { ++child_signals; };
    sigaction(SIGCHLD, &counting, &before_);
  }
  void TearDown() override { sigaction(SIGCHLD, &before_, nullptr); }

  // Runs `script`, which writes to the file $TO, and returns the text.
  std::string output_of(const std::string& script) {
    const auto file = path("out");
    const auto part = path("part");
    DetachedCommand command("(" + script + ") > " + part + " 2>&1; mv " + part + " " + file);
    EXPECT_EQ(command.start(variables_), "");
    return eventually_in(file);
  }

  std::vector<std::pair<std::string, std::string>> variables_;

 private:
  struct sigaction before_ {};
};

TEST_F(ADetachedCommand, RaisesNoSignalAndIsNoChild) {
  EXPECT_EQ(output_of("echo done"), "done\n");
  for (const int options : {0, static_cast<int>(__WALL), static_cast<int>(__WCLONE)}) {
    errno = 0;
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG | options), -1) << options;
    EXPECT_EQ(errno, ECHILD) << options;
  }
  EXPECT_EQ(child_signals, 0);
}

// Proves that the test above would see a child of an ordinary kind.
TEST_F(ADetachedCommand, AnOrdinaryChildIsSeen) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  int status = 0;
  while (waitpid(-1, &status, 0) != child) {
  }
  EXPECT_EQ(child_signals, 1);
}

TEST_F(ADetachedCommand, GetsItsVariablesAndNoneOfOurs) {
  setenv("LD_PRELOAD", "", 1);
  setenv("INLINE_PROF_WATCH", "0.1%", 1);
  setenv("KEPT", "yes", 1);
  variables_ = {{"INLINE_PROF_CHANGE_NAME", "a b"}};
  const std::string text = output_of("env | grep -E 'LD_PRELOAD|INLINE_PROF|KEPT' | sort");
  EXPECT_EQ(text, "INLINE_PROF_CHANGE_NAME=a b\nKEPT=yes\n");
  unsetenv("LD_PRELOAD");
  unsetenv("INLINE_PROF_WATCH");
  unsetenv("KEPT");
}

TEST_F(ADetachedCommand, StartsWithNothingOfTheApplications) {
  const int kept_open = open("/dev/zero", O_RDONLY);  // not close-on-exec
  signal(SIGUSR1, SIG_IGN);
  // dash blocks signals while it starts a command, so the last one takes the shell's place.
  const std::string text = output_of(
      "ls -l /proc/$$/fd | grep -c -e /dev/zero -e 'socket:'; readlink /proc/$$/fd/0;"
      "ps -o sid= -p $$ | tr -d ' '; echo $$; exec grep -E 'Sig(Blk|Ign)' /proc/self/status");
  close(kept_open);
  signal(SIGUSR1, SIG_DFL);
  std::istringstream lines(text);
  std::string found, input, session, process, blocked, ignored;
  std::getline(lines, found);
  std::getline(lines, input);
  std::getline(lines, session);
  std::getline(lines, process);
  std::getline(lines, blocked);
  std::getline(lines, ignored);
  EXPECT_EQ(found, "0");
  EXPECT_EQ(input, "/dev/null");
  EXPECT_EQ(blocked, "SigBlk:\t0000000000000000");
  EXPECT_EQ(ignored, "SigIgn:\t0000000000000000");
  EXPECT_EQ(session, process);
}

TEST_F(ADetachedCommand, ThatHangsOrFailsIsLeftAlone) {
  DetachedCommand failing("exit 3");
  EXPECT_EQ(failing.start({}), "");
  DetachedCommand missing("/no/such/program");
  EXPECT_EQ(missing.start({}), "");
  const auto file = path("pid");
  DetachedCommand hanging("echo $$ > " + file + ".part; mv " + file + ".part " + file +
                          "; read nothing; sleep 1000");
  EXPECT_FALSE(hanging.is_running());
  EXPECT_EQ(hanging.start({}), "");
  EXPECT_TRUE(hanging.is_running());
  const int process = std::stoi(eventually_in(file));
  kill(-process, SIGKILL);
  for (int waited = 0; waited < 10'000 && hanging.is_running(); ++waited)
    usleep(1000);
  EXPECT_FALSE(hanging.is_running());
  for (int waited = 0; waited < 10'000 && failing.is_running(); ++waited)
    usleep(1000);
  EXPECT_FALSE(failing.is_running());
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG | __WALL), -1);
  EXPECT_EQ(child_signals, 0);
}

TEST_F(ADetachedCommand, IsRefusedWhereOrphansAreAdopted) {
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  DetachedCommand command("true");
  EXPECT_NE(command.start({}).find("adopts orphans"), std::string::npos);
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

// The system refuses a process more: a sentence, and nothing else.
TEST_F(ADetachedCommand, ThatCannotBeStartedIsASentence) {
  DetachedCommand command(std::string(3 << 20, 'x'));  // longer than an argument may be
  EXPECT_EQ(command.start({}), "/bin/sh: Argument list too long");
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG | __WALL), -1);
  EXPECT_EQ(child_signals, 0);
}

}  // namespace
}  // namespace inline_prof::sys
