// A run in which no iteration is found: launches of every kernel are sampled in turn, one at a
// time, and counted exactly.  In prof.json the whole run is one iteration.
#pragma once

#include "hook/launch.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace inline_prof::session {

struct LaunchSite;
class Session;

class WithoutIterations {
 public:
  explicit WithoutIterations(Session& session) : session_(session) {}

  // With the session's mutex held.
  void begin();
  void leave();
  void sample_from_now_on(LaunchSite& site);
  void choose_next_sample();
  // The run was too short for samples: lists what it launched, and how often.
  void list_unsampled();
  // Counts the launches of every event so far; returns the sum of all.
  std::uint64_t count_calls();
  // Estimates the time of all launches by that of those up to the last sample that was read.
  void extend_time_to_the_end();

  // Takes the mutex.
  [[nodiscard]] hook::LaunchTicket begin_launch(const hook::Launch& launch);

 private:
  // The run's time so far, up to the end of the sample that was read last.
  void note_time_so_far(float time_ms);

  Session& session_;
  std::size_t next_sampled_ = 0;  // whose turn it is
  // Launches before the clock started, before each sample, and before the sample at whose end the
  // run's time was read last.
  std::uint64_t launches_before_clock_ = 0;
  std::vector<std::uint64_t> launches_before_samples_;
  std::uint64_t launches_timed_ = 0;
};

}  // namespace inline_prof::session
