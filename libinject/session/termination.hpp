// Writes the samples of a job that is ended by a signal (SIGTERM from a scheduler, Ctrl-C).
#pragma once

#include "record/writer_thread.hpp"

#include <csignal>

namespace inline_prof::session {

// From now on `writer` hears of SIGTERM, SIGINT and SIGHUP where the application leaves them to the
// system, also where it gives one of them back later.  A handler of its own replaces ours.
void listen_for_termination(record::WriterThread& writer) noexcept;

// Restores the default handlers, unless the application has set its own.
void stop_listening_for_termination() noexcept;

// True for the system's own handling of a signal.
[[nodiscard]] bool is_default(const struct sigaction& action) noexcept;

// Called after the application's sigaction(): makes `before`, which may be null, the system's own
// handling if it is our handler, and sets ours again if the application `restores` the system's.
void hide_handler(int signal, bool restores, struct sigaction* before) noexcept;

}  // namespace inline_prof::session
