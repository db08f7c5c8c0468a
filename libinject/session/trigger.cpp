#include "session/trigger.hpp"

#include "sys/config.hpp"
#include "sys/hot_line.hpp"
#include "sys/lifecycle.hpp"
#include "sys/signal_action.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>

namespace inline_prof::session::trigger {
namespace {

constinit std::atomic<bool> paused{false};
constinit std::atomic<bool> resumed{false};

void on_signal(int) {
  const int error = errno;
  set_paused(!paused.load());
  errno = error;
}

}  // namespace

// Two atomic stores, so that a signal handler may call it.  After a pause every launch is examined
// until the next iteration begins.
void set_paused(bool wanted) noexcept {
  if (paused.exchange(wanted) == wanted || !sys::is_on()) return;
  if (!wanted) resumed.store(true);
  sys::set_filter(wanted ? sys::kNoLaunch : sys::kEveryLaunch);
}

void install(const sys::Config& config) {
  if (config.trigger_signal == 0) return;
  paused.store(true);
  struct sigaction before {};
  sys::set_action(config.trigger_signal, nullptr, &before);
  if ((before.sa_flags & SA_SIGINFO) != 0 || before.sa_handler != SIG_DFL) {
    throw sys::ConfigError(
        "INLINE_PROF_TRIGGER: the program handles this signal itself; expected one that it leaves "
        "alone");
  }
  struct sigaction ours {};
  ours.sa_handler = on_signal;
  ours.sa_flags = SA_RESTART | SA_ONSTACK;
  sys::set_action(config.trigger_signal, &ours, nullptr);
}

bool is_paused() noexcept {
  return paused.load(std::memory_order_relaxed);
}

bool is_resumed() noexcept {
  return resumed.load(std::memory_order_relaxed);
}

bool was_paused() noexcept {
  return resumed.load(std::memory_order_relaxed) && resumed.exchange(false);
}

}  // namespace inline_prof::session::trigger
