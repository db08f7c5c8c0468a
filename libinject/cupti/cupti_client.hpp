// Our use of CUPTI: as the way in which launches are seen (backend `cupti`), or as a second witness
// beside our own wrappers.  One subscription serves both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace inline_prof::record {
struct CrossCheck;
}

namespace inline_prof::hook::cupti {

enum class Role { kBackend, kCrossCheck, kBoth };

// Subscribes.  Returns an empty string, or why it cannot be; then nothing is different from before.
[[nodiscard]] std::string begin(Role role);

// The filter word has changed: callbacks are on exactly while a launch may be looked at.  Does
// nothing where CUPTI is not in use.
void follow_filter();

// Profiling is off, in whatever way.  The subscription goes, on a thread of its own: we may be
// inside a callback.
void leave() noexcept;

// The process ends: nothing is unsubscribed any more.
void note_exit() noexcept;

// What CUPTI calls the launch that this thread has just made; it is remembered, for the kernel's
// times.  0: not known, or no witness.
[[nodiscard]] std::uint32_t cross_check_of_this_launch() noexcept;

// What the witness has seen so far; nothing where there is none.
[[nodiscard]] std::optional<record::CrossCheck> collect();

}  // namespace inline_prof::hook::cupti
