// dormant -> starting -> on -> off, and never back.
#pragma once

#include <atomic>
#include <cstdint>

namespace inline_prof::sys {

enum class Lifecycle : int { kDormant, kStarting, kOn, kOff };

extern constinit std::atomic<Lifecycle> lifecycle;

[[nodiscard]] inline bool is_on() noexcept {
  return lifecycle.load(std::memory_order_relaxed) == Lifecycle::kOn;
}

// Ends profiling: one line on stderr that names `where` and `why`, then silence.  Every hook is a
// plain jump from here on.  Only the first call prints.
void turn_off(const char* where, const char* why) noexcept;

// Returns what turn_off printed, "where: why"; empty if it has printed nothing.
[[nodiscard]] const char* off_reason() noexcept;

// Ends profiling for a regular reason: the work is done, or the user has disabled it.
void turn_off_silently() noexcept;

// Sets which launches are examined (hot_line.hpp).  Off is final: if another thread turns profiling
// off meanwhile, the filter stays empty.
void set_filter(std::uint64_t filter) noexcept;
void add_to_filter(std::uint64_t bits) noexcept;

// Registers `handler`, which is called once when profiling ends: on any thread, inside any call of
// the application's.
void call_when_off(void (*handler)() noexcept) noexcept;

// Counts a failed driver call, which costs one sample. After sixteen in a row the mechanism does
// not work here, and profiling ends.
void count_vendor_error(const char* function, int code) noexcept;
void count_vendor_success() noexcept;
[[nodiscard]] unsigned long vendor_error_count() noexcept;

}  // namespace inline_prof::sys
