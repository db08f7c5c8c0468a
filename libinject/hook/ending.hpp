// The end of the process by a signal that a handler of ours has caught.
#pragma once

#include <atomic>

namespace inline_prof::hook {

// The signal; 0: none.
extern constinit std::atomic<int> ending_signal;

// Names the file that holds all but the samples on their way: for these the writer needs the
// driver, which the thread that was interrupted may have locked.  The text must stay.
void note_file_before_the_end(const char* path) noexcept;

// Ends the process as the signal would have, once the file is written, or after two seconds.
[[noreturn]] void wait_for_the_end() noexcept;

// Restores the system's own handling of the signal.
void restore_default_handler(int signal) noexcept;

// Ends the process as the signal would have done by default.
[[noreturn]] void die_of(int signal) noexcept;

}  // namespace inline_prof::hook
