#include "hook/ending.hpp"

#include "sys/log.hpp"
#include "sys/quiet_thread.hpp"
#include "sys/signal_action.hpp"

#include <csignal>
#include <sys/syscall.h>
#include <unistd.h>

namespace inline_prof::hook {

constinit std::atomic<int> ending_signal{0};

namespace {

constexpr int kLongestWaitMs = 2000;
constexpr int kPollMs = 10;

constinit std::atomic<const char*> file_before_the_end{nullptr};

}  // namespace

void note_file_before_the_end(const char* path) noexcept {
  file_before_the_end.store(path);
}

void wait_for_the_end() noexcept {
  const sigset_t all = sys::all_but_faults();
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  for (int waited = 0; waited < kLongestWaitMs; waited += kPollMs)
    usleep(kPollMs * 1000);
  const char* file = file_before_the_end.load();
  if (file != nullptr) {
    sys::say_uncounted(
        "wrote %s; the last samples are missing, since signal %d came inside the driver; next: "
        "prof-analyze %s",
        file, ending_signal.load(), file);
  } else {
    sys::say(sys::LogLevel::kError,
             "prof.json was not written within %d ms after signal %d: the samples since the last "
             "checkpoint are lost",
             kLongestWaitMs, ending_signal.load());
  }
  die_of(ending_signal.load());
}

void restore_default_handler(int signal) noexcept {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  sys::set_action(signal, &standard, nullptr);
}

void die_of(int signal) noexcept {
  restore_default_handler(signal);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  // A filter of system calls may answer even here, and kill(-1) would reach every process.
  if (const pid_t self = getpid(); self > 0) kill(self, signal);
  raise(signal);
  // Neither can fail, and the process must end all the same: with the status that a shell gives it.
  syscall(SYS_exit_group, 128 + signal, 0, 0, 0, 0);
  __builtin_unreachable();
}

}  // namespace inline_prof::hook
