// Messages to the user, on stderr.  A run without problems prints nothing.
#pragma once

#include <span>

namespace inline_prof::sys {

enum class LogLevel : int { kQuiet, kError, kWarning, kInfo };

// Sets the level of printed messages; kWarning until the configuration is read.
void set_log_level(LogLevel level) noexcept;

// Remembers what stderr is. If descriptor 2 is something else later on, the application has closed
// stderr and opened a file or a socket of its own there, and nothing is written any more. Called
// when the library is loaded; an application that opens such a file does so before its first GPU
// call.
void note_stderr() noexcept;

// The most lines of a process, errors and other lines each; then one line says that there were
// more.
inline constexpr int kMostLines = 64;

// Writes "inline_prof: " and the message as one line, with one write(2), if `level` is wanted.
// Control characters and bytes that are no UTF-8 are shown as '?'.  Long messages are cut at 1 KiB.
// No allocation, no lock, no buffer of the application's; a full pipe or one without a reader loses
// the line.
[[gnu::format(printf, 2, 3)]] void say(LogLevel level, const char* format, ...) noexcept;

// Writes a line at kWarning without counting it: progress, and the last line.
[[gnu::format(printf, 1, 2)]] void say_uncounted(const char* format, ...) noexcept;

// Returns the system's text for an errno. Unlike strerror()'s in general, glibc's of known errors
// are constants.
[[nodiscard]] const char* error_text(int error) noexcept;

// Replaces each byte that may control a terminal, and each that is no UTF-8, by '?'.
void make_printable(std::span<char> text) noexcept;

}  // namespace inline_prof::sys
