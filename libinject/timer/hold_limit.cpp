#include "timer/hold_limit.hpp"

#include "sys/quiet_thread.hpp"

namespace inline_prof::timer {
namespace {

// A hold lasts 2 ms at most where launches do not block, longer if the thread does not get to run.
// This thread checks twice before it ends one.
constexpr long kCheckNanoseconds = 150'000'000;

}  // namespace

bool HoldLimit::start(volatile std::uint32_t* flag) {
  flag_ = flag;
  if (sem_init(&wake_, 0, 0) != 0) return false;
  is_running_ = sys::start_quiet_thread(thread_, &HoldLimit::main, this) == 0;
  if (!is_running_) sem_destroy(&wake_);
  return is_running_;
}

HoldLimit::~HoldLimit() {
  if (!is_running_) return;
  is_over_.store(true, std::memory_order_release);
  sem_post(&wake_);
  pthread_join(thread_, nullptr);
  sem_destroy(&wake_);
}

void* HoldLimit::main(void* self) {
  static_cast<HoldLimit*>(self)->loop();
  return nullptr;
}

void HoldLimit::loop() {
  std::uint32_t seen = 0;
  while (!is_over_.load(std::memory_order_acquire)) {
    const timespec until = sys::from_now(kCheckNanoseconds);
    static_cast<void>(sem_timedwait(&wake_, &until));
    const std::uint32_t hold = hold_.load(std::memory_order_acquire);
    if (hold != 0 && hold == seen && !is_over_.load(std::memory_order_acquire)) {
      has_ended_one_.store(true, std::memory_order_release);
      // A store for a hold that is over does no harm: a later hold waits for a larger number.
      __atomic_store_n(flag_, hold, __ATOMIC_RELEASE);
    }
    seen = hold;
  }
}

}  // namespace inline_prof::timer
