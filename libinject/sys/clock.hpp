// The clock that never goes back, and stands still while the machine sleeps.
#pragma once

#include <cstdint>
#include <ctime>

namespace inline_prof::sys {

[[nodiscard]] inline std::int64_t monotonic_ns() noexcept {
  constexpr std::int64_t nanoseconds_per_second = 1'000'000'000;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * nanoseconds_per_second + now.tv_nsec;
}

[[nodiscard]] inline double monotonic_seconds() noexcept {
  return static_cast<double>(monotonic_ns()) * 1e-9;
}

}  // namespace inline_prof::sys
