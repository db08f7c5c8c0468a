// The time at which a thread of the application last returned from a call that waits for the
// device, in microseconds, on a clock that wraps after 71 minutes.
#pragma once

#include "sys/clock.hpp"
#include "sys/thread_state.hpp"

#include <cstdint>

namespace inline_prof::timer {

[[nodiscard]] inline std::uint32_t monotonic_us() noexcept {
  return static_cast<std::uint32_t>(sys::monotonic_ns() / 1000);
}

// A call that returns sooner found the device without work.
inline constexpr std::uint32_t kLeastWaitUs = 5;

inline void note_end_of_wait(std::uint32_t called_us) noexcept {
  const std::uint32_t now_us = monotonic_us();
  if (now_us - called_us < kLeastWaitUs) return;
  sys::this_thread.last_wait_ended_us = now_us == 0 ? 1 : now_us;
}

// Returns the microseconds since then; below 0 if this thread has not waited.
[[nodiscard]] inline float since_last_wait_us() noexcept {
  if (sys::this_thread.last_wait_ended_us == 0) return -1;
  return static_cast<float>(monotonic_us() - sys::this_thread.last_wait_ended_us);
}

}  // namespace inline_prof::timer
