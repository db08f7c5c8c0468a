// Turns what was discovered into a plan.  With the state's mutex held.
#pragma once

#include "record/event_record.hpp"

#include <functional>
#include <string>

namespace inline_prof::hook {

struct State;

void forget_events(State& state, const std::function<bool(const record::EventRecord&)>& unwanted);
void make_plan(State& state);
// What was discovered becomes what can be measured.
void settle_discovery(State& state);
void count_host_bytes(State& state);
// Reports it on stderr and in prof.json; after profiling has been turned off, in prof.json only.
void warn(State& state, std::string warning);

}  // namespace inline_prof::hook
