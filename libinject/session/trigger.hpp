// Measuring that begins and stops while the program runs: with a signal, or as prof-run ctl asks;
// and an application that sleeps meanwhile.
#pragma once

#include "sys/config.hpp"

namespace inline_prof::session::trigger {

// Does nothing without a trigger in `config`.  Throws ConfigError if the application handles the
// signal itself.  The handler stays: a late signal must not end the application.
void install(const sys::Config& config);

// Pauses measuring, or goes on.
void set_paused(bool wanted) noexcept;
// True while measuring is paused.  Launches are not examined then.
[[nodiscard]] bool is_paused() noexcept;

// True once after each pause.  An iteration that was interrupted by the pause does not count.
[[nodiscard]] bool was_paused() noexcept;
// The same, without taking note of it.
[[nodiscard]] bool is_resumed() noexcept;

// Tells an application that sleeps, as it was not wanted, that its calls are wanted again, or never
// more (abi.h, `wake`).  A null `schedule`: the application cannot be told any more.
using Work = int (*)(void*);
using Schedule = int (*)(Work, void*);
void let_wake(Schedule schedule, Work work) noexcept;
[[nodiscard]] bool can_wake() noexcept;
void wake() noexcept;
// Called each second: tries again if the application had no room for it.
void retry_to_wake() noexcept;

}  // namespace inline_prof::session::trigger
