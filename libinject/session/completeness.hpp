// Whether prof.json has everything that was asked for, and what it says where it has not.
//
// A file is complete if the run came to an orderly end (all was measured, or the process ended by
// itself after the plan was through; no signal, no fault that switched profiling off), and if every
// event that was asked for has all its samples, or a reason that stands with it in the file.  A
// run without iterations asks for as many samples as there is time for.
#pragma once

namespace inline_prof::session {

class Session;

enum class End {
  kMeasured,  // every sample has been recorded and read
  kExit,      // the process ends by itself
  kBySignal,  // it is ended
};

// Decides whether the present phase has all that was asked for; the run goes on.  With the
// session's mutex held.
[[nodiscard]] bool settle_characterisation(Session& session);

// Decides, for good: a run ends once.  Says on stderr and in the file what is missing, and gives
// each event that is short of samples its reason.  With the session's mutex held.
[[nodiscard]] bool settle_completeness(Session& session, End end);

// Returns true if the plan is over, and most of what it asked for was not launched in its turn: the
// iterations that were found may be parts of longer ones, or a loop of the set-up.
[[nodiscard]] bool most_samples_are_missing(Session& session);

}  // namespace inline_prof::session
