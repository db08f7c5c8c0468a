// Calls that wait for the device.  Where the host makes them in each iteration, they tell where
// iterations end; what is launched after one finds the device without work, and that is noted with
// the samples.
#pragma once

namespace inline_prof::hook {

// From before a call until after it.
class HostWait {
 public:
  // Where the call is no wait, nothing is done.
  explicit HostWait(bool waits) noexcept : waits_(waits) {}
  ~HostWait() {
    if (waits_) note_end();
  }
  HostWait(const HostWait&) = delete;
  HostWait& operator=(const HostWait&) = delete;

 private:
  static void note_end() noexcept;
  bool waits_;
};

// Notes that the host waits, by which iterations are found.
[[nodiscard]] HostWait note_wait(const char* where) noexcept;

}  // namespace inline_prof::hook
