#pragma once

namespace inline_prof::hook {

// Called by every wrapper that may be the application's first call; all but the first call return
// at once.  Reads the configuration, finds the driver, and ends in `on` or in `off`.
void start_once() noexcept;

}  // namespace inline_prof::hook

// Defined by the folder on top, as a program defines main(): starts a run (entry/start.cpp).
extern "C" void inline_prof_start();
