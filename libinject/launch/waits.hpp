// Calls that wait for the device.  If the host makes them in each iteration, they tell where
// iterations end.  A launch after one finds the device without work, which is noted with its
// sample.
#pragma once

#include <cstdint>
#include <optional>

namespace inline_prof::launch {

// From before a call until after it.
class HostWait {
 public:
  // Does nothing if the call is no wait.
  explicit HostWait(bool waits) noexcept : called_us_(waits ? time_of_call_us() : std::nullopt) {}
  ~HostWait() {
    if (called_us_) note_end(*called_us_);
  }
  HostWait(const HostWait&) = delete;
  HostWait& operator=(const HostWait&) = delete;

 private:
  // The clock is read only where a launch of this iteration may ask for it.
  static std::optional<std::uint32_t> time_of_call_us() noexcept;
  static void note_end(std::uint32_t called_us) noexcept;
  std::optional<std::uint32_t> called_us_;
};

// Notes that the host waits, by which iterations are found.
[[nodiscard]] HostWait note_wait(const char* where) noexcept;

}  // namespace inline_prof::launch
