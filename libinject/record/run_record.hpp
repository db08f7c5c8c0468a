#pragma once

#include "record/event_record.hpp"
#include "watch/change_point.hpp"
#include "watch/history.hpp"
#include "watch/machine_reading.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace inline_prof::record {

// The findings of a run that is watched, since its events were characterised.  The events' own
// histories are theirs (EventRecord::history).
struct MachineHistory {
  int device_id = 0;
  watch::MachineReadings readings{};
};

// An event, a layer or the iteration became slower or faster than its own history.
struct FoundChange {
  enum class Of { kEvent, kLayer, kIteration };
  Of of = Of::kEvent;
  const EventRecord* event = nullptr;  // null for a layer and the iteration
  std::string layer_name{};
  int device_id = 0;
  watch::Change change{};
  std::string reason{};  // what the machine's readings say; empty: nothing
};

// Guarded by RunRecord::mutex.  Times are seconds since profiling began.
struct WatchRecord {
  // More changes are reported, but not kept.
  static constexpr std::size_t kMostChanges = 256;

  double budget = 0;  // share of the time
  std::uint64_t seed = 1;
  double false_alarms_per_month = 1;
  double started_s = 0;
  double until_s = 0;
  std::uint64_t pairs = 0;
  double pair_cost_us =
      0;                  // the GPU's or the launching thread's time, the larger one; 0: not known
  double cost_share = 0;  // the same, of all pairs and iterations, over the time
  watch::History iteration{};
  std::vector<MachineHistory> machine{};
  std::vector<FoundChange> changes{};
  std::uint64_t changes_found = 0;
};

// The contents of prof.json except the events.
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
  std::optional<Distribution> added_kernel;  // what each further empty kernel adds to a pair
};

// CUPTI's results, as a cross-check of ours.
struct CrossCheck {
  std::uint32_t version = 0;   // of its interface, 130001
  std::uint64_t launches = 0;  // while RunRecord::launches_seen counted
  std::uint64_t dropped_records = 0;
  std::unordered_map<std::uint32_t, double> times_us;  // by correlation id
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
  std::atomic<std::uint64_t> irregular_iteration{0};
  std::atomic<std::uint64_t> destroyed{0};  // because the stream, context or module was
};

// Iteration times of the device with the lowest number, in iteration order.  One thread at a time
// writes; others may read meanwhile.
class IterationTimes {
 public:
  // Empties the list and makes room. Called with RunRecord::mutex held, while nobody reads.
  void restart(std::size_t capacity) {
    count_.store(0, std::memory_order_relaxed);
    times_ms_ = std::make_unique_for_overwrite<float[]>(capacity);
    iterations_ = std::make_unique_for_overwrite<std::uint32_t[]>(capacity);
    capacity_ = capacity;
  }
  // Keeps the room. Called as restart().
  void clear() { count_.store(0, std::memory_order_relaxed); }
  // Makes room for `more` times. Called as restart().
  void grow(std::size_t more) {
    const std::size_t count = size();
    auto times_ms = std::make_unique_for_overwrite<float[]>(count + more);
    auto iterations = std::make_unique_for_overwrite<std::uint32_t[]>(count + more);
    std::copy_n(times_ms_.get(), count, times_ms.get());
    std::copy_n(iterations_.get(), count, iterations.get());
    times_ms_ = std::move(times_ms);
    iterations_ = std::move(iterations);
    capacity_ = count + more;
  }
  // `iteration` is kept in 32 bits: at 1 ms an iteration they last for 49 days.
  void add(std::int64_t iteration, float time_ms) {
    const std::size_t count = count_.load(std::memory_order_relaxed);
    if (count == capacity_) return;
    std::atomic_ref(times_ms_[count]).store(time_ms, std::memory_order_relaxed);
    iterations_[count] = static_cast<std::uint32_t>(iteration);
    count_.store(count + 1, std::memory_order_release);
  }
  // Sets the only time, which grows, of a run without iterations.
  void set_only(float time_ms) {
    if (capacity_ == 0) return;
    std::atomic_ref(times_ms_[0]).store(time_ms, std::memory_order_relaxed);
    count_.store(1, std::memory_order_release);
  }
  [[nodiscard]] std::size_t size() const { return count_.load(std::memory_order_acquire); }
  [[nodiscard]] float operator[](std::size_t i) const {
    return std::atomic_ref(times_ms_[i]).load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::int64_t iteration(std::size_t i) const { return iterations_[i]; }

 private:
  std::unique_ptr<float[]> times_ms_;
  std::unique_ptr<std::uint32_t[]> iterations_;
  std::size_t capacity_ = 0;
  std::atomic<std::size_t> count_{0};
};

// A phase: iterations that launch the same. A run has one or several, which may alternate.
struct PhaseRecord {
  struct Stretch {
    std::int64_t first = 0;  // iteration
    std::int64_t last = 0;   // below `first` while the phase lasts
  };
  std::vector<Stretch> stretches{};
  double started_after_s = 0;  // of the first stretch, since profiling began
  std::string source{};        // how the start of iterations was found
  double confidence = 1;
  std::string reason{};              // why the search for it began
  std::int64_t kernel_launches = 0;  // in an iteration
  std::int64_t graph_launches = 0;
  std::int64_t graph_kernels = 0;    // in these graph launches
  bool is_measured = false;          // it has a list of events
  std::int64_t passes_left_out = 0;  // of its stretches, which were no iterations

  [[nodiscard]] bool has(std::int64_t iteration) const {
    return std::any_of(stretches.begin(), stretches.end(), [&](const Stretch& each) {
      return iteration >= each.first && (iteration <= each.last || each.last < each.first);
    });
  }
};

// Consecutive iterations that were all armed or all unarmed.
struct BlockTimes {
  bool armed = false;
  std::vector<float> times_ms;
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
  std::string backend = "driver";
  std::string schedule;  // the file's path; empty: every event is measured
  std::int64_t warmup = 0;
  std::int64_t repeat = 0;
  std::string iteration_source = "none";
  double iteration_confidence = 1;      // 0..1; below 1 where a period was found
  std::int64_t iteration_launches = 0;  // of the period that was found; 0: none was
  std::int64_t other_period = 0;        // launches of another period that fits, too; 0: none does

  EventList events;
  IterationTimes iteration_times;
  Dropped dropped;
  std::atomic<std::uint64_t> armed_iterations{0};
  std::atomic<std::uint64_t> unarmed_iterations{0};
  std::atomic<std::uint64_t> launches_seen{0};
  std::atomic<std::uint64_t> graph_launches_seen{0};
  std::atomic<std::uint64_t> host_bytes{0};
  std::atomic<std::int64_t> last_iteration{0};  // begun last

  // Everything below is guarded by `mutex`.
  std::mutex mutex;
  std::vector<PhaseRecord> phases;
  int phase_in_making = -1;  // the phase whose events are still being described; -1: none
  std::vector<DeviceInfo> devices;
  std::vector<Calibration> calibrations;
  std::vector<RuntimeData> runtime_data;
  std::vector<BlockTimes>
      overhead_blocks;                 // in chronological order; empty: overhead was not measured
  std::unique_ptr<WatchRecord> watch;  // null: the run is not watched
  std::vector<std::string> not_seen;
  std::vector<std::string> warnings;

  // Adds a warning, with the mutex held. Returns true if it is new and among the first
  // kMostWarnings: a program may misuse thousands of labels.
  static constexpr std::size_t kMostWarnings = 1000;
  bool add_warning(std::string warning) {
    if (warnings.size() > kMostWarnings) return false;
    if (std::find(warnings.begin(), warnings.end(), warning) != warnings.end()) return false;
    const bool is_last = warnings.size() == kMostWarnings;
    warnings.push_back(is_last ? "more warnings are left out" : std::move(warning));
    return !is_last;
  }
};

// Returns the time of a pair around nothing, while the GPU is busy.  With the mutex held.
[[nodiscard]] inline double pair_bias_us(const RunRecord& run, int device_id) {
  double other = 0;
  for (const Calibration& calibration : run.calibrations) {
    if (calibration.device_id != device_id) continue;
    if (calibration.state == "busy") return calibration.empty_pair.median_us;
    other = calibration.empty_pair.median_us;
  }
  return other;
}

}  // namespace inline_prof::record
