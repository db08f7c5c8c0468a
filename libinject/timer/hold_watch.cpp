#include "timer/hold_watch.hpp"

#include <csignal>
#include <ctime>

namespace inline_prof::timer {
namespace {

// A hold lasts 2 ms at most where launches do not block and the thread gets to run; this one looks
// twice before it ends one.
constexpr long kLookNanoseconds = 50'000'000;

timespec next_look() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);  // sem_timedwait counts on it
  time.tv_nsec += kLookNanoseconds;
  if (time.tv_nsec >= 1'000'000'000) {
    time.tv_nsec -= 1'000'000'000;
    ++time.tv_sec;
  }
  return time;
}

}  // namespace

bool HoldWatch::start(volatile std::uint32_t* flag) {
  flag_ = flag;
  if (sem_init(&wake_, 0, 0) != 0) return false;
  // The host's signals are the host's: none of them may be delivered to our thread.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  is_running_ = pthread_create(&thread_, nullptr, &HoldWatch::main, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!is_running_) sem_destroy(&wake_);
  return is_running_;
}

HoldWatch::~HoldWatch() {
  if (!is_running_) return;
  is_over_.store(true, std::memory_order_release);
  sem_post(&wake_);
  pthread_join(thread_, nullptr);
  sem_destroy(&wake_);
}

void* HoldWatch::main(void* self) {
  static_cast<HoldWatch*>(self)->loop();
  return nullptr;
}

void HoldWatch::loop() {
  std::uint32_t seen = 0;
  while (!is_over_.load(std::memory_order_acquire)) {
    const timespec until = next_look();
    static_cast<void>(sem_timedwait(&wake_, &until));
    const std::uint32_t hold = hold_.load(std::memory_order_acquire);
    if (hold != 0 && hold == seen && !is_over_.load(std::memory_order_acquire)) {
      has_ended_one_.store(true, std::memory_order_release);
      // What is held may be over by now: a later hold waits for a larger number.
      __atomic_store_n(flag_, hold, __ATOMIC_RELEASE);
    }
    seen = hold;
  }
}

}  // namespace inline_prof::timer
