#pragma once

#include "schedule/request.hpp"
#include "schedule/settings.hpp"

#include <vector>

namespace inline_prof::schedule {

// Returns the prof.schedule for `keys`: settings.repeat samples of each, from iteration
// settings.warmup + 1 on, in the order of settings.policy. Throws ScheduleError if there is nothing
// to measure, and as Plan does.
[[nodiscard]] SampleList expand(const std::vector<EventKey>& keys, const Settings& settings);

// Does the same for the layers of `spec`, in the order in which the original profiler's generator
// wrote them (listed_events()). Patterns need the events of a run and are left out: see select().
[[nodiscard]] SampleList expand(const Spec& spec, const Settings& settings);

}  // namespace inline_prof::schedule
