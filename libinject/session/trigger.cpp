#include "session/trigger.hpp"

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

constinit std::atomic<Schedule> schedule_wake{nullptr};
constinit std::atomic<Work> work_of_wake{nullptr};
constinit std::atomic<bool> wake_is_due{false};

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

void let_wake(Schedule schedule, Work work) noexcept {
  work_of_wake.store(work, std::memory_order_relaxed);
  schedule_wake.store(work == nullptr ? nullptr : schedule, std::memory_order_release);
}

bool can_wake() noexcept {
  return schedule_wake.load(std::memory_order_relaxed) != nullptr;
}

void wake() noexcept {
  const Schedule schedule = schedule_wake.load(std::memory_order_acquire);
  if (schedule == nullptr) return;
  wake_is_due.store(schedule(work_of_wake.load(std::memory_order_relaxed), nullptr) != 0,
                    std::memory_order_relaxed);
}

void retry_to_wake() noexcept {
  if (wake_is_due.load(std::memory_order_relaxed)) wake();
}

}  // namespace inline_prof::session::trigger
