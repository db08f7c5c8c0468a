// The events of a graph launch.  With the state's mutex held, unless noted.
#pragma once

#include "graphs/graph_registry.hpp"
#include "launch/launch.hpp"

#include <cstdint>
#include <vector>

namespace inline_prof::hook {

struct LaunchSite;
struct State;

void meet_replay(State& state, LaunchSite& site, const Launch& launch, std::uint32_t occurrence);
// What becomes of each graph: events for its kernels, or one for the whole.
void settle_graphs(State& state);
// False if a list of events is given and names nothing in `nodes`.  Needs no mutex.
[[nodiscard]] bool schedule_asks_for(const State& state, const std::vector<GraphNode>& nodes);

}  // namespace inline_prof::hook
