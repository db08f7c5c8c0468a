#include "session/trigger.hpp"

#include "sys/config.hpp"
#include "sys/hot_line.hpp"
#include "sys/lifecycle.hpp"
#include "sys/quiet_thread.hpp"
#include "sys/signal_action.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace inline_prof::session::trigger {
namespace {

constexpr useconds_t kPollMicroseconds = 100'000;

constinit std::atomic<bool> paused{false};
constinit std::atomic<bool> resumed{false};
constinit std::atomic<bool> polling_file{false};

void on_signal(int) {
  const int error = errno;
  set_paused(!paused.load());
  errno = error;
}

bool exists(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0;
}

void* poll_file(void* argument) {
  const auto* path = static_cast<const std::string*>(argument);
  while (polling_file.load() && sys::is_on() && !sys::only_quiet_threads_are_left()) {
    set_paused(!exists(*path));
    usleep(kPollMicroseconds);
  }
  delete path;
  return nullptr;
}

void start_polling(const std::string& path) {
  polling_file.store(true);
  auto* argument = new std::string(path);
  const int error = sys::start_quiet_detached_thread(poll_file, argument);
  if (error != 0) {
    delete argument;
    throw sys::ConfigError("INLINE_PROF_TRIGGER=file:" + path +
                           ": no thread can be had to watch the file (error " +
                           std::to_string(error) + ")");
  }
}

void start_listening(int signal) {
  struct sigaction before {};
  sys::set_action(signal, nullptr, &before);
  if ((before.sa_flags & SA_SIGINFO) != 0 || before.sa_handler != SIG_DFL) {
    throw sys::ConfigError(
        "INLINE_PROF_TRIGGER: the program handles this signal itself; expected one that it leaves "
        "alone, or file:PATH");
  }
  struct sigaction ours {};
  ours.sa_handler = on_signal;
  ours.sa_flags = SA_RESTART | SA_ONSTACK;
  sys::set_action(signal, &ours, nullptr);
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
  if (config.trigger == sys::Trigger::kNone) return;
  if (config.trigger == sys::Trigger::kSignal) {
    paused.store(true);
    return start_listening(config.trigger_signal);
  }
  paused.store(!exists(config.trigger_file));
  start_polling(config.trigger_file);
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

// The handler stays and does nothing: a late signal must not end the application.
void remove() noexcept {
  polling_file.store(false);
}

}  // namespace inline_prof::session::trigger
