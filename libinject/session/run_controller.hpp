// The run's iterations: warm-up, plan, what each measures, overhead measurement, end.
#pragma once

#include "session/state.hpp"

namespace inline_prof::hook::run_controller {

// With the state's mutex held.  True once the run is over.
[[nodiscard]] bool start_iteration(State& state);

// One origin event on each device's busiest stream.
void record_origins(State& state, std::int64_t iteration);

// Reads finished samples.  True once all recorded samples have been read.
bool poll_all(State& state);

[[nodiscard]] std::uint64_t samples_taken(const State& state);

// True once every requested sample has been recorded.
[[nodiscard]] bool everything_was_recorded(const State& state);

// Notes that can only be written once the run is over.
void close_record(State& state);

}  // namespace inline_prof::hook::run_controller
