#include "session/termination.hpp"

#include "hook/ending.hpp"
#include "hook/guard.hpp"
#include "sys/clock.hpp"
#include "sys/quiet_thread.hpp"
#include "sys/signal_action.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <unistd.h>

namespace inline_prof::session {

namespace {

constexpr std::array kSignals{SIGTERM, SIGINT, SIGHUP};

constinit std::atomic<record::WriterThread*> listener{nullptr};
constinit std::atomic<pid_t> listening_process{0};

// A thread that is inside a call of ours for so long after a signal may hang there, as in a driver
// that does not answer.
constexpr std::int64_t kLongestCallNs = 2'000'000'000;
constinit std::atomic<std::int64_t> first_signal_ns{0};

void on_signal(int signal);

bool is_ours(const struct sigaction& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == on_signal;
}

// Async-signal-safe.  The application's code behind the interrupted place must not run any more, as
// it would not without us: so this thread waits here until the writer's has ended the process.
void on_signal(int signal) {
  const int error = errno;
  struct sigaction now {};
  const bool is_installed = sys::set_action(signal, nullptr, &now) == 0 && is_ours(now);
  auto* writer = listener.load();
  if (!is_installed) {
    // A handler of the application's passes the signal on to the one before it, which would have
    // been the system's, and which nobody calls.  Or the writer's thread stopped listening when the
    // signal had already come, which is the system's then.
    if (writer == nullptr && is_default(now)) hook::die_of(signal);
  } else if (writer == nullptr || listening_process.load() != getpid()) {
    // A forked child inherits the handler and not the writer's thread.
    hook::die_of(signal);
  } else {
    hook::ending_signal.store(signal);
    writer->wake_for_signal(signal);
    const std::int64_t now_ns = sys::monotonic_ns();
    std::int64_t first_ns = 0;
    const bool is_first = first_signal_ns.compare_exchange_strong(first_ns, now_ns);
    // Inside a call of ours this thread may hold what the writer needs: it waits when it leaves.
    // If it never does, a further signal ends the process.
    if (!hook::HookGuard::is_inside()) hook::wait_for_the_end();
    if (!is_first && now_ns - first_ns >= kLongestCallNs) hook::die_of(signal);
  }
  errno = error;
}

void catch_signal(int signal) noexcept {
  struct sigaction ours {};
  ours.sa_handler = on_signal;
  // The application's system calls are none of the signal's business, and a thread with a small
  // stack has another one for signals.
  ours.sa_flags = SA_RESTART | SA_ONSTACK;
  ours.sa_mask = sys::all_but_faults();
  sys::set_action(signal, &ours, nullptr);
}

}  // namespace

bool is_default(const struct sigaction& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL;
}

// Python, and programs that clean up first, restore the system's handling and raise the signal
// again.
void hide_handler(int signal, bool restores, struct sigaction* before) noexcept {
  if (before != nullptr && is_ours(*before)) *before = {};
  if (!restores || listener.load() == nullptr || listening_process.load() != getpid()) return;
  if (std::find(kSignals.begin(), kSignals.end(), signal) != kSignals.end()) catch_signal(signal);
}

void listen_for_termination(record::WriterThread& writer) noexcept {
  // Linux keeps signals that are left to the system from process 1, as in a container.
  if (!writer.is_running() || getpid() == 1) return;
  listening_process.store(getpid());
  listener.store(&writer);
  for (const int signal : kSignals) {
    struct sigaction before {};
    if (sys::set_action(signal, nullptr, &before) == 0 && is_default(before)) catch_signal(signal);
  }
}

void stop_listening_for_termination() noexcept {
  if (listener.exchange(nullptr) == nullptr) return;
  for (const int signal : kSignals) {
    struct sigaction now {};
    if (sys::set_action(signal, nullptr, &now) == 0 && is_ours(now))
      hook::restore_default_handler(signal);
  }
}

}  // namespace inline_prof::session
