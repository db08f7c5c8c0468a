// The findings of a run that is watched, since its events were characterised.  The events' own
// histories are theirs (EventRecord::history).
#pragma once

#include "watch/change_point.hpp"
#include "watch/history.hpp"
#include "watch/machine_reading.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace inline_prof::record {

struct EventRecord;

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

}  // namespace inline_prof::record
