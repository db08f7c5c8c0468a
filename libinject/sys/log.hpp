// Lines for the user, on stderr.  A healthy profiler says nothing.
#pragma once

namespace inline_prof::sys {

enum class LogLevel : int { kQuiet, kError, kWarning, kInfo };

// What is said from now on; kWarning until the configuration is read.
void set_log_level(LogLevel level) noexcept;

// Writes "inline_prof: " and the message as one line, with one write(2), if `level` is wanted.
// Long messages are cut at 1 KiB.  No allocation, no lock, no buffer of the application's.
[[gnu::format(printf, 2, 3)]] void say(LogLevel level, const char* format, ...) noexcept;

}  // namespace inline_prof::sys
