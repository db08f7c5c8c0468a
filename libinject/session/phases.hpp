// A program does not launch the same in all its iterations: it captures graphs after some, trains
// and evaluates in turn, changes its batch.  Iterations that launch the same are a phase, and an
// event list, with its samples, belongs to one.
//
// Some iterations are watched: all their launches are counted, and what they are is compared with
// the warm-up's.  These are the first ones that are measured, which tell how much iterations differ
// anyway; one in 32, or in 8 where there are several phases; and the one behind an iteration in
// which what is armed was not launched as expected.  Where three in a row differ, the phase is
// left, and the warm-up begins again.  An iteration that is known from another phase ends it at
// once: that phase goes on where it stopped.
//
// With the state's mutex held, where nothing else is said.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace inline_prof::hook {

struct Launch;
struct State;

// Every launch is to be counted.
extern constinit std::atomic<bool> watching;
// While `watching`, before the launch is made.  Without the mutex.
void note_watched(const Launch& launch) noexcept;

[[nodiscard]] double monotonic_seconds() noexcept;

// An iteration starts, and the one before was `was_void`, no whole one: true where the phase was
// left, and the warm-up begins with it.
[[nodiscard]] bool has_left_phase(State& state, std::int64_t iteration, bool was_void);
// Where something else than iterations tells that it has ended, after iteration `last`.
void leave_phase(State& state, std::int64_t last, std::string reason);
// True where another phase may be looked for.
[[nodiscard]] bool may_look_for_phase(const State& state);

// An iteration of the warm-up has ended: true where a known phase goes on with the next.
[[nodiscard]] bool is_known_iteration(State& state);
// What was discovered is that of a known phase, which goes on.
[[nodiscard]] bool go_on_with_known_phase(State& state);

// Of a phase without any layer the events have those of an earlier phase's events of their names:
// PyTorch's hooks are not set again where that would compile the program anew.
void take_layers_of_earlier_phase(State& state);

// No iterations were found where others ended.
void stop_looking_for_phase(State& state);

// The plan of a new one is made; with the record's mutex held, too.
void note_phase(State& state);
// The warm-up is over.
void measure_phase(State& state);

// The present phase has all its samples: true as long as others are waited for.
[[nodiscard]] bool waits_for_other_phases(State& state);
// The run is over: what is missing in the other phases is said.
void settle_other_phases(State& state);

}  // namespace inline_prof::hook
