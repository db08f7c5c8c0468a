// What prof.json says beside the events.
#pragma once

#include "record/event_record.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::record {

struct DeviceInfo {
  int device_id = 0;
  std::string name;
  std::string uuid;
  int sm_count = 0;
  std::string compute_capability;
  std::uint64_t memory_bytes = 0;
  int l2_bytes = 0;
  int sm_clock_khz = 0;
  int memory_clock_khz = 0;
  std::string driver_version;
  std::string cuda_version;
};

struct Distribution {
  double median_us = 0;
  double p05_us = 0;
  double p95_us = 0;
  int count = 0;
};

struct Calibration {
  int device_id = 0;
  std::string state;  // busy, idle
  Distribution empty_pair;
  std::optional<Distribution> empty_kernel_pair;
};

struct RuntimeData {
  std::string name;
  int device_id = 0;
  const void* stream = nullptr;
  std::vector<std::string> data;
};

struct Dropped {
  std::atomic<std::uint64_t> ring_full{0};
  std::atomic<std::uint64_t> not_ready_at_exit{0};
  std::atomic<std::uint64_t> capture_skipped{0};
  std::atomic<std::uint64_t> stale_graph{0};
  std::atomic<std::uint64_t> interleaved_launch{0};
};

// Iteration times of the device with the lowest number, in iteration order.
class IterationTimes {
 public:
  // Empties the list and makes room.  Not while somebody reads: RunRecord::mutex.
  void restart(std::size_t capacity) {
    count_.store(0, std::memory_order_relaxed);
    times_ms_ = std::make_unique<float[]>(capacity);
    capacity_ = capacity;
  }
  void add(float time_ms) {
    const std::size_t count = count_.load(std::memory_order_relaxed);
    if (count == capacity_) return;
    times_ms_[count] = time_ms;
    count_.store(count + 1, std::memory_order_release);
  }
  // For a run without iterations: one time that grows.
  void set_only(float time_ms) {
    if (capacity_ == 0) return;
    times_ms_[0] = time_ms;
    count_.store(1, std::memory_order_release);
  }
  [[nodiscard]] std::size_t size() const { return count_.load(std::memory_order_acquire); }
  [[nodiscard]] float operator[](std::size_t i) const { return times_ms_[i]; }

 private:
  std::unique_ptr<float[]> times_ms_;
  std::size_t capacity_ = 0;
  std::atomic<std::size_t> count_{0};
};

struct RunRecord {
  std::string host_name;
  std::string command;
  std::string started_at;
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> world_size;
  std::optional<std::int64_t> local_rank;

  std::string mode = "fine_grained";
  std::string policy = "in_order";
  std::string schedule;  // the file's path; empty: everything met
  std::int64_t warmup = 0;
  std::int64_t repeat = 0;
  std::string iteration_source = "none";

  EventList events;
  IterationTimes iteration_times;
  Dropped dropped;
  std::atomic<std::uint64_t> armed_iterations{0};
  std::atomic<std::uint64_t> unarmed_iterations{0};
  std::atomic<std::uint64_t> launches_seen{0};
  std::atomic<std::uint64_t> host_bytes{0};

  // Everything below is guarded by `mutex`.
  std::mutex mutex;
  std::vector<DeviceInfo> devices;
  std::vector<Calibration> calibrations;
  std::vector<RuntimeData> runtime_data;
  std::vector<std::string> not_seen;
  std::vector<std::string> warnings;
};

}  // namespace inline_prof::record
