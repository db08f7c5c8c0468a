// The events that a graph's replay has.  With the state's mutex held, but where said.
#pragma once

#include "graphs/graph_registry.hpp"
#include "launch/launch.hpp"

#include <cstdint>
#include <vector>

namespace inline_prof::hook {

struct LaunchSite;
struct State;

void meet_replay(State& state, LaunchSite& site, const Launch& launch, std::uint32_t occurrence);
// What each graph got: its kernels, or itself as a whole.
void settle_graphs(State& state);
// False where a list of events names nothing that `nodes` have.  No mutex.
[[nodiscard]] bool schedule_asks_for(const State& state, const std::vector<GraphNode>& nodes);

}  // namespace inline_prof::hook
