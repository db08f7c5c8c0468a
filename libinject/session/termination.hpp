// Writes the samples of a job that is ended by a signal (SIGTERM from a scheduler, Ctrl-C).
#pragma once

#include "record/writer_thread.hpp"

namespace inline_prof::hook {

// From now on `writer` hears of SIGTERM, SIGINT and SIGHUP where the application leaves them to the
// system.  The application that asks later finds our handler; the one that sets its own replaces
// it.
void watch_termination(record::WriterThread& writer) noexcept;

// Restores the default handlers, unless the application has set its own.
void leave_termination() noexcept;

// Ends the process as the signal would have done by default.
[[noreturn]] void die_of(int signal) noexcept;

}  // namespace inline_prof::hook
