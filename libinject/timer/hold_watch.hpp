// Ends a hold that lasts too long.
#pragma once

#include <atomic>
#include <cstdint>
#include <pthread.h>
#include <semaphore.h>

namespace inline_prof::timer {

// Work is held back behind a value that the GPU waits for in host memory.  Where a launch returns
// only when it has run (CUDA_LAUNCH_BLOCKING, tools that look at one kernel at a time), the thread
// that holds never comes to store that value: this one stores it then.
class HoldWatch {
 public:
  HoldWatch() = default;
  HoldWatch(const HoldWatch&) = delete;
  HoldWatch& operator=(const HoldWatch&) = delete;
  // The thread has ended when this returns.
  ~HoldWatch();

  // False: there is no thread, and nothing may be held.
  [[nodiscard]] bool start(volatile std::uint32_t* flag);

  // From now on `hold` is stored after some milliseconds, unless it is over before.  Holds are
  // counted upwards from 1.
  void begin(std::uint32_t hold) { hold_.store(hold, std::memory_order_release); }
  void end() { hold_.store(0, std::memory_order_release); }

  // True if a hold had to be ended.
  [[nodiscard]] bool has_ended_one() const {
    return has_ended_one_.load(std::memory_order_acquire);
  }

 private:
  static void* main(void* self);
  void loop();

  volatile std::uint32_t* flag_ = nullptr;
  std::atomic<std::uint32_t> hold_{0};
  std::atomic<bool> has_ended_one_{false};
  std::atomic<bool> is_over_{false};
  sem_t wake_{};
  pthread_t thread_{};
  bool is_running_ = false;
};

}  // namespace inline_prof::timer
