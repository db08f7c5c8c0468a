#include "session/termination.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <unistd.h>

namespace inline_prof::hook {
namespace {

constexpr std::array kSignals{SIGTERM, SIGINT, SIGHUP};

constinit std::atomic<record::WriterThread*> listener{nullptr};
constinit std::atomic<pid_t> listening_process{0};

void restore(int signal) noexcept {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  sigaction(signal, &standard, nullptr);
}

// Async-signal-safe: posts a semaphore, or hands the signal back to the system.
void on_signal(int signal) {
  const int error = errno;
  auto* writer = listener.load();
  // A forked child inherits the handler and not the writer's thread.
  if (writer != nullptr && listening_process.load() == getpid()) {
    writer->wake_for_signal(signal);
  } else {
    restore(signal);
    raise(signal);
  }
  errno = error;
}

bool is_ours(const struct sigaction& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == on_signal;
}

}  // namespace

void watch_termination(record::WriterThread& writer) noexcept {
  if (!writer.is_running()) return;
  listening_process.store(getpid());
  listener.store(&writer);
  for (const int signal : kSignals) {
    struct sigaction before {};
    if (sigaction(signal, nullptr, &before) != 0) continue;
    if ((before.sa_flags & SA_SIGINFO) != 0 || before.sa_handler != SIG_DFL) continue;
    struct sigaction ours {};
    ours.sa_handler = on_signal;
    ours.sa_flags = SA_RESTART;  // the application's system calls are none of the signal's business
    sigfillset(&ours.sa_mask);
    sigaction(signal, &ours, nullptr);
  }
}

void leave_termination() noexcept {
  if (listener.exchange(nullptr) == nullptr) return;
  for (const int signal : kSignals) {
    struct sigaction now {};
    if (sigaction(signal, nullptr, &now) == 0 && is_ours(now)) restore(signal);
  }
}

void die_of(int signal) noexcept {
  restore(signal);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  kill(getpid(), signal);
  while (true)
    pause();
}

}  // namespace inline_prof::hook
