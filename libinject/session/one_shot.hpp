// Mode one_shot.  With the state's mutex held.
#pragma once

namespace inline_prof::hook {

struct State;

void begin_one_shot(State& state);
void stop_one_shot(State& state);

}  // namespace inline_prof::hook
