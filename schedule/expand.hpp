#pragma once

#include "schedule/request.hpp"
#include "schedule/settings.hpp"

#include <vector>

namespace inline_prof::schedule {

// Returns the prof.schedule for `keys`: settings.repeat samples of each, from iteration
// settings.warmup + 1 on, in the order of settings.policy. Throws ScheduleError if there is nothing
// to measure, and as Plan does.
[[nodiscard]] SampleList expand(const std::vector<EventKey>& keys, const Settings& settings);

}  // namespace inline_prof::schedule
