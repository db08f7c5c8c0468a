// Prints the progress on stderr, for a user who waits.
#pragma once

#include <cstdint>

namespace inline_prof::hook {

struct State;

// At an iteration's start, with the state's mutex held: a line every few seconds.  Only where
// INLINE_PROF_PROGRESS asks for it, and on rank 0 alone.
void report_progress(const State& state, std::int64_t iteration);

}  // namespace inline_prof::hook
