// The process is about to end by a signal that a handler of ours has caught.
#pragma once

#include <atomic>

namespace inline_prof::hook {

// The signal; 0: none.
extern constinit std::atomic<int> ending_signal;

// Ends the process as the signal would have, once the file is written, or after two seconds.
[[noreturn]] void wait_for_the_end() noexcept;

}  // namespace inline_prof::hook
