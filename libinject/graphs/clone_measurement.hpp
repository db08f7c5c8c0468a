// Kernels inside graphs are measured in visits: a copy of the graph with events around the kernel
// is built on the writer's thread, its first replays are dropped, the next ones are samples, and it
// goes before the next kernel's is built.  One visit at a time, after the schedule's other events.
#pragma once

#include "graphs/graph_clone.hpp"
#include "timer/context_timer.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace inline_prof::hook {

struct State;

namespace clone_measurement {

// Targets that are kernels inside graphs, in the order of their visits.  With the state's mutex
// held, as for next() and is_over().
void plan(State& state, const std::vector<std::size_t>& targets);

// The target whose copy is launched in the iteration that begins; none while one is being built.
[[nodiscard]] std::optional<std::size_t> next(State& state);
[[nodiscard]] bool is_over(const State& state);
// All is recorded: the last copy goes, too.
void finish(State& state);

// A replay that the schedule has chosen, on its way to the driver.
struct Replay {
  GraphClone* clone = nullptr;                // null: the application's exec is launched
  timer::ContextTimer::Pair* pair = nullptr;  // null: a replay that only warms up
};
// `event`: a kernel inside `graph`.  Whoever gets a clone must call after_replay().
[[nodiscard]] Replay before_replay(State& state, ExecutableGraph& graph, record::EventRecord& event,
                                   timer::ContextTimer& timer, std::int64_t iteration);
void after_replay(const Replay& replay, bool launched);

// On the writer's thread, every 10 ms or when there is work: builds and destroys copies.  False
// where nothing will be left to do.
[[nodiscard]] bool tick(State& state);

// The application is about to destroy the graph's exec, or what it refers to.  Waits for a build of
// this graph that is under way.
void destroy_clone_of(ExecutableGraph& graph);
// All of a context's copies are gone with it.
void context_gone(CUcontext context);

enum class Mirrored { kAlways, kNotIfTimed };

// The application has changed a node of its exec: `change` does the same to the copy that is alive.
// With the registry's mutex held.
void mirror(ExecutableGraph& graph, CUgraphNode node,
            CUresult (*change)(CUgraphExec, CUgraphNode, void*), void* argument, Mirrored mirrored);

}  // namespace clone_measurement
}  // namespace inline_prof::hook
