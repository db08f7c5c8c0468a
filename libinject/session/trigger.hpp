// Measuring that begins and stops while the program runs: with a signal, or while a file exists.
#pragma once

#include "sys/config.hpp"

namespace inline_prof::hook::trigger {

// Without a trigger in `config` there is nothing to do.  Throws ConfigError where the signal is
// taken by the application, or no thread can be had to watch the file.
void install(const sys::Config& config);

// True while nothing is to be looked at.  Launches do not come by then.
[[nodiscard]] bool is_paused() noexcept;

// True once after each pause.  What was discovered half before the pause is no iteration.
[[nodiscard]] bool was_paused() noexcept;

void remove() noexcept;  // the run is over

}  // namespace inline_prof::hook::trigger
