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
// plain jump from here on.  Only the first call speaks.
void turn_off(const char* where, const char* why) noexcept;

// What turn_off said, "where: why"; empty where it has not spoken.
[[nodiscard]] const char* off_reason() noexcept;

// As turn_off, for an end that is no fault (the work is done, or the user asked for none).
void turn_off_silently() noexcept;

// Which launches are looked at (hot_line.hpp).  Off is final: whoever sets a filter while another
// thread switches off leaves none behind.
void set_filter(std::uint64_t filter) noexcept;
void add_to_filter(std::uint64_t bits) noexcept;

// `handler` is called once, by whoever ends profiling: anywhere, inside any call of the
// application's.
void call_when_off(void (*handler)() noexcept) noexcept;

// A single failed vendor call is one sample less; sixteen in a row mean that the mechanism does
// not work here, and end profiling.
void count_vendor_error(const char* function, int code) noexcept;
void count_vendor_success() noexcept;
[[nodiscard]] unsigned long vendor_error_count() noexcept;

}  // namespace inline_prof::sys
