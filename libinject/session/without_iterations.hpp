// A run in which no iteration is found: launches of every kernel are sampled in turn.  With the
// state's mutex held.
#pragma once

#include <cstdint>

namespace inline_prof::hook {

struct LaunchSite;
struct State;

void begin_without_iterations(State& state);
void sample_from_now_on(State& state, LaunchSite& site);
std::uint64_t count_calls(State& state);  // of every event, so far; the sum of all
// The run so far: up to the end of the sample that was read last.
void note_time_so_far(State& state, float time_ms);
void note_sample_begins(State& state);
// The time of all launches, by that of those up to the last sample that was read.
void extend_time_to_the_end(State& state);
void list_unsampled(
    State& state);  // the run was too short for samples: what it launched, and how often
[[nodiscard]] std::uint32_t launches_to_next_sample(const LaunchSite& site);
void leave_without_iterations(State& state);
void choose_next_sample(State& state);

}  // namespace inline_prof::hook
