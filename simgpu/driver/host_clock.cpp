#include "driver/host_clock.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace simgpu {
namespace {

// A sleeping thread wakes up later than asked: 50 us are the kernel's usual slack.
constexpr std::chrono::microseconds kSleepsLonger{100};

}  // namespace

Nanoseconds HostClock::now() const {
  if (!is_real_) return moved_;
  const std::chrono::nanoseconds since_boot = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<Nanoseconds>(speed_ * static_cast<double>(since_boot.count()));
}

void HostClock::advance(Nanoseconds by) {
  if (!is_real_) moved_ += by;
}

void HostClock::move_to(Nanoseconds at) {
  if (!is_real_) moved_ = std::max(moved_, at);
}

std::chrono::nanoseconds HostClock::real_time_until(Nanoseconds at) const {
  if (!is_real_) return {};
  const auto left = std::max<Nanoseconds>(0, at - now());
  return std::chrono::nanoseconds(static_cast<Nanoseconds>(static_cast<double>(left) / speed_));
}

void HostClock::wait_until(Nanoseconds at) {
  move_to(at);
  while (now() < at) {
    const auto left = real_time_until(at);
    if (left > kSleepsLonger) {
      std::this_thread::sleep_for(left - kSleepsLonger);
    } else {
      std::this_thread::yield();
    }
  }
}

}  // namespace simgpu
