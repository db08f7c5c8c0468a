// A job that is told to end (SIGTERM from a scheduler, Ctrl-C) leaves its samples behind.
#pragma once

#include "record/writer_thread.hpp"

namespace inline_prof::hook {

// From now on `writer` hears of SIGTERM, SIGINT and SIGHUP where the application leaves them to the
// system.  The application that asks later finds our handler; the one that sets its own replaces
// it.
void watch_termination(record::WriterThread& writer) noexcept;

// The signals are the system's again, where the application has not taken them.
void leave_termination() noexcept;

// Ends the process as the signal would have, had nobody listened.
[[noreturn]] void die_of(int signal) noexcept;

}  // namespace inline_prof::hook
