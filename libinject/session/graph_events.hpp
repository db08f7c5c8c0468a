// The events of a launched graph: one for each kernel in it, or for each library call and label of
// its capture; if that is impossible, one for the whole graph.
#pragma once

#include "hook/launch.hpp"
#include "schedule/request.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>

namespace inline_prof::session {

struct LaunchSite;
class Session;

// With the session's mutex held.
void meet_replay(Session& session, LaunchSite& site, const hook::Launch& launch,
                 std::uint32_t occurrence);
// Decides what becomes of each graph: events for its kernels, or one for the whole.
void settle_graphs(Session& session);

// The names of the events that the schedule lists; none if any event may be asked for.
[[nodiscard]] std::optional<std::unordered_set<std::string>> names_asked_for(
    const schedule::Request& request);

}  // namespace inline_prof::session
