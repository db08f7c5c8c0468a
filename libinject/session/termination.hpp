// Writes the samples of a job that is ended by a signal (SIGTERM from a scheduler, Ctrl-C).
#pragma once

#include "record/writer_thread.hpp"

namespace inline_prof::session {

// From now on `writer` hears of SIGTERM, SIGINT and SIGHUP where the application leaves them to the
// system.  The application that asks later finds our handler; the one that sets its own replaces
// it.
void listen_for_termination(record::WriterThread& writer) noexcept;

// Restores the default handlers, unless the application has set its own.
void stop_listening_for_termination() noexcept;

}  // namespace inline_prof::session
