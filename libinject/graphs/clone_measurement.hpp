// Kernels inside graphs are measured one after the other, after the schedule's other events.  For
// each, the writer's thread builds a clone of the graph with events around the kernel.  The clone's
// first replays are dropped, the next ones are samples, and it is destroyed before the next
// kernel's is built.
#pragma once

#include "graphs/graph_clone.hpp"
#include "timer/context_timer.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace inline_prof::hook {

struct State;

namespace clone_measurement {

// Targets that are kernels inside graphs, in the order in which they are measured.  With the
// state's mutex held, as for next() and is_over().
void plan(State& state, const std::vector<std::size_t>& targets);

// Another phase begins: nothing is measured until the next plan.
void pause(State& state);

// The target whose clone is launched in the iteration that begins; none while a clone is being
// built.
[[nodiscard]] std::optional<std::size_t> next(State& state);
[[nodiscard]] bool is_over(const State& state);
// All samples are recorded: the last clone is destroyed as well.
void finish(State& state);

// A graph launch that the schedule has chosen, before it reaches the driver.
struct Replay {
  GraphClone* clone = nullptr;                // null: the application's exec is launched
  timer::ContextTimer::Pair* pair = nullptr;  // null: a warm-up replay
};
// `event`: a kernel inside `graph`, which is launched on `stream`.  If it has a clone, the caller
// must call after_replay().
[[nodiscard]] Replay before_replay(State& state, ExecutableGraph& graph, CUstream stream,
                                   record::EventRecord& event, timer::ContextTimer& timer,
                                   std::int64_t iteration);
void after_replay(const Replay& replay, bool launched);

// Called on the writer's thread, every 10 ms or when there is work: builds and destroys clones.
// False once there is nothing left to do.
[[nodiscard]] bool tick(State& state);

// The application is about to destroy the graph's exec, or what it refers to.  Waits for a clone of
// this graph that is being built.
void destroy_clone_of(ExecutableGraph& graph);
// All clones of this context are gone with it.
void context_gone(CUcontext context);

enum class Mirrored { kAlways, kNotIfTimed };

// The application has changed a node of its exec: `change` does the same to the clone, if there is
// one.  With the registry's mutex held.
void mirror(ExecutableGraph& graph, CUgraphNode node,
            CUresult (*change)(CUgraphExec, CUgraphNode, void*), void* argument, Mirrored mirrored);

}  // namespace clone_measurement
}  // namespace inline_prof::hook
