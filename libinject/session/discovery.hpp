// The warm-up: which kernels, labels and graphs an iteration launches.
#pragma once

#include "labels/label.hpp"
#include "launch/launch.hpp"
#include "record/event_record.hpp"
#include "session/launch_site.hpp"
#include "timer/context_timer.hpp"

#include <cuda.h>

#include <cstdint>
#include <string>

namespace inline_prof::hook {

struct State;

// With the state's mutex held, but for meet().
[[nodiscard]] timer::ContextTimer* timer_of(State& state, CUcontext context);
[[nodiscard]] const KernelInfo* kernel_of(State& state, CUfunction function);
// Counts the events of one name on one stream, kernels' by the kernel.
[[nodiscard]] int next_occurrence(State& state, const std::string& name, const StreamInfo& stream);
[[nodiscard]] const std::string& event_name_of(State& state, const KernelInfo& kernel,
                                               const StreamInfo& stream, int& occurrence);
// Of the stream's context; null where the driver does not say it.
[[nodiscard]] timer::ContextTimer* timer_of_stream(State& state, CUstream stream);
[[nodiscard]] StreamInfo* stream_of(State& state, CUstream stream);
[[nodiscard]] LaunchSite* label_site(State& state, Label& label, CUstream stream);
// `op_name`: of the library call that begins with this launch; empty: none.  Null if the list is
// full.
record::EventRecord* add_event(State& state, LaunchSite& site, std::uint32_t launch_occurrence,
                               const std::string& op_name);
void forget_discovery(State& state);  // events are discovered anew, from this iteration on
void fold_counts(State& state);       // an iteration ends: counts go to the totals
[[nodiscard]] StreamInfo* busiest_stream(State& state, const timer::ContextTimer& timer);

// Both take the mutex.
// Forgets what was launched so far, if no iteration has begun.
void make_room_before_iterations(State& state);
void meet(State& state, const Launch& launch, bool is_captured);

}  // namespace inline_prof::hook
