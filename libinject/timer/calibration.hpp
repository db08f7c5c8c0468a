// Measures what an event pair costs on this device, with nothing and with an empty kernel between
// the events.
#pragma once

#include "record/run_record.hpp"
#include "sys/cuda_api.hpp"

#include <atomic>
#include <cstdint>
#include <pthread.h>
#include <semaphore.h>
#include <string>
#include <vector>

namespace inline_prof::timer {

struct CalibrationResult {
  std::vector<record::Calibration> states;  // idle, busy, graph; fewer where the driver refuses
  std::string note;                         // why a state or the kernel is missing; else empty
  std::string graph_note{};                 // the same for pairs in graphs
};

// Called right after the application has created `context`, when loading a module and allocating a
// stream and 64 bytes of pinned memory cannot interfere with work in flight. Releases all of it.
// Takes 5 ms as a rule, and at most 20 ms for each of six distributions; creating a context takes
// some hundred.
//
// busy: pairs queued on a stream that is held back by cuStreamWaitValue32, at most 16 a hold,
// released on every path and after 2 ms at the latest. idle: each pair alone on an empty stream.
// graph: pairs that are nodes of a graph, replayed one by one.
[[nodiscard]] CalibrationResult calibrate(CUcontext context, int device_id) noexcept;

// Sorts `values`, in us, and returns their distribution. Percentiles are interpolated linearly
// between order statistics. All are zero if there is no value.
[[nodiscard]] record::Distribution distribution_of(std::vector<double>& values);

// Ends a hold that lasts too long.

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
