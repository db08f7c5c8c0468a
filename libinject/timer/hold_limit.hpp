// Ends a hold that lasts too long.
#pragma once

#include <atomic>
#include <cstdint>
#include <pthread.h>
#include <semaphore.h>

namespace inline_prof::timer {

// A thread that ends a hold. Work is held back behind a value that the GPU waits for in host
// memory. Where a launch returns only after it has run (CUDA_LAUNCH_BLOCKING, tools that run one
// kernel at a time), the holding thread never gets to store that value, and this thread stores it.
class HoldLimit {
 public:
  HoldLimit() = default;
  HoldLimit(const HoldLimit&) = delete;
  HoldLimit& operator=(const HoldLimit&) = delete;
  // Waits until the thread has ended.
  ~HoldLimit();

  // Returns false if there is no thread; then nothing may be held.
  [[nodiscard]] bool start(volatile std::uint32_t* flag);

  // Begins a hold, which ends after some milliseconds at the latest. Holds are counted upwards from
  // 1.
  void begin(std::uint32_t hold) { hold_.store(hold, std::memory_order_release); }
  void end() { hold_.store(0, std::memory_order_release); }

  // Returns true if a hold had to be ended.
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
