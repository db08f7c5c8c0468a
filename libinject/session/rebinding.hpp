// Streams, contexts and modules that the application destroys, and what it makes in their place.
//
// A handle stands for something only as long as that lives: afterwards the driver may give it out
// again for something else.  So when the application destroys a stream, a context or a module, the
// launch sites on it lose their handles at once, and no launch is taken for theirs.  A kernel of
// the same name, or a label or graph, that is then launched where no site is known takes the place
// of the one that was lost, and its stream that of the stream that was lost: a program that resets
// its device, or makes a stream for each step, is measured on.
//
// A program may also leave a stream for another one without destroying it.  Where something that is
// armed was not launched in its iteration, the next one is looked at: a stream on which nothing at
// all is launched then counts as lost.  If nothing takes its place, it is as it was.
#pragma once

#include "session/launch_site.hpp"

#include <cuda.h>

#include <atomic>
#include <cstdint>

namespace inline_prof::hook {

struct Launch;
struct State;

// While sites that are being measured are lost: every launch is looked at.
extern constinit std::atomic<bool> sites_are_lost;

// With the state's mutex held.  Before the driver is told, so that the handle is not given out yet.
void lose_stream(State& state, CUstream stream);
void lose_context(State& state, timer::ContextTimer& timer);
void lose_module(State& state, const void* module);

// What is launched: one of them is set.
struct Launched {
  CUfunction function = nullptr;
  Label* label = nullptr;
  ExecutableGraph* graph = nullptr;
};

// The site whose place this takes, with its new handles; null where none was lost that fits.  With
// the state's mutex held.
[[nodiscard]] LaunchSite* rebind(State& state, const Launched& launched, CUstream stream);

// While sites_are_lost: the same for a launch that may be of a lost site.  Takes the mutex.
void look_for_lost(State& state, const Launched& launched, CUstream stream);
// While boundary_is_lost: the same for a launch with which an iteration may begin.
void look_for_boundary(State& state, const Launched& launched, CUstream stream);
// The measured iterations begin: what was lost before is looked for.  With the mutex held.
void begin_search_if_lost(State& state);
// One of them starts: what does not come back is not looked for without end.  With the mutex held.
void search_on(State& state);
// Before that: what was not launched in the iteration that ends.  With the mutex held.
void look_for_silent_streams(State& state, std::int64_t iteration);
// The sites are forgotten: none is lost any more.
void forget_lost(State& state);
// False where the handles of what is measured there have gone, and nothing has taken their place.
[[nodiscard]] bool has_handles(const LaunchSite& site) noexcept;

}  // namespace inline_prof::hook
