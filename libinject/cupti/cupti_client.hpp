// CUPTI, used in place of our wrappers (backend `cupti`) or beside them as a cross-check.  One
// subscription serves both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace inline_prof::record {
struct CrossCheck;
}

namespace inline_prof::cupti {

enum class Role { kBackend, kCrossCheck, kBoth };

// Subscribes.  Returns an empty string, or the reason of failure; then nothing has changed.
[[nodiscard]] std::string begin(Role role);

// To be called after the filter has changed: callbacks are enabled only while the filter lets a
// launch through.  Does nothing where CUPTI is not in use.
void follow_filter();

// To be called when profiling ends for any reason.  Unsubscribes on a separate thread, since we may
// be inside a callback.
void leave() noexcept;

// To be called when the process ends: from then on leave() does nothing.
void note_exit() noexcept;

// CUPTI's correlation id of the launch that this thread has just made.  The kernel's record will be
// kept.  0: unknown, or no cross-check.
[[nodiscard]] std::uint32_t cross_check_of_this_launch() noexcept;

// Returns what CUPTI has seen so far; empty without a cross-check.
[[nodiscard]] std::optional<record::CrossCheck> collect();

}  // namespace inline_prof::cupti
