// The host's clock in virtual time: moved by what API calls cost, or tied to real time.
#pragma once

#include "common/settings.hpp"
#include "driver/model.hpp"

#include <chrono>
#include <memory>

namespace simgpu {

struct HostCall;

class HostClock {
 public:
  explicit HostClock(const Settings& settings)
      : is_real_(settings.real_host_clock), speed_(settings.host_speed) {}

  // SIMGPU_HOST_CLOCK=real: the clock is the machine's monotonic one times SIMGPU_HOST_SPEED, the
  // same for all threads and processes.  Nothing but time moves it.
  [[nodiscard]] bool is_real() const { return is_real_; }

  [[nodiscard]] Nanoseconds now() const;

  // Without effect on a real clock.
  void advance(Nanoseconds by);
  void move_to(Nanoseconds at);

  // How long a real clock takes until it is there; nothing on the other one.
  [[nodiscard]] std::chrono::nanoseconds real_time_until(Nanoseconds at) const;

  // Returns once the clock is there: on a real one after a while, in which nothing may be locked.
  void wait_until(Nanoseconds at);

 private:
  bool is_real_;
  double speed_;
  Nanoseconds moved_ = 0;  // if not real
};

// Hands the call to the thread that makes such calls, one after the other: on a real clock not
// before `begin`.  Returns at once.
void start_host_call(const std::shared_ptr<HostCall>& call,
                     const HostClock& clock = HostClock(Settings{}), Nanoseconds begin = 0);

}  // namespace simgpu
