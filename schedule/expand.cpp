#include "schedule/expand.hpp"

#include "schedule/error.hpp"
#include "schedule/plan.hpp"

namespace inline_prof::schedule {

SampleList expand(const std::vector<EventKey>& keys, const Settings& settings) {
  if (keys.empty()) {
    throw ScheduleError("no event to measure, expected at least one event in an enabled layer");
  }
  const Plan plan(keys.size(), settings);
  SampleList list{.warmup = settings.warmup};
  list.samples.reserve(static_cast<std::size_t>(plan.sample_count()));
  for (std::int64_t iteration = settings.warmup + 1; iteration <= plan.last_iteration();
       ++iteration) {
    const auto event = plan.event_at(iteration);
    if (event) list.samples.push_back({.iteration = iteration, .key = keys[*event]});
  }
  return list;
}

}  // namespace inline_prof::schedule
