#include "driver/host_clock.hpp"

#include "driver/simulator.hpp"
#include "driver/timeline.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
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

namespace {

class Caller {
 public:
  Caller() {
    std::thread([this] { run(); }).detach();  // ends with the process
  }

  void add(const std::shared_ptr<HostCall>& call, const HostClock& clock, Nanoseconds begin) {
    {
      const std::lock_guard lock(mutex_);
      calls_.emplace(clock.is_real() ? begin : 0, Due{call, clock});
    }
    wake_.notify_one();
  }

 private:
  struct Due {
    std::shared_ptr<HostCall> call;
    HostClock clock;
  };

  // The application may wait for a further call, and call the driver no more.
  static void start_what_is_behind() {
    Simulator* simulator = Simulator::instance();
    if (simulator == nullptr) return;
    const std::lock_guard lock(simulator->mutex);
    simulator->engine.pump();
  }

  [[noreturn]] void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return !calls_.empty(); });
      const auto first = calls_.begin();
      const auto left = first->second.clock.real_time_until(first->first);
      if (left.count() > 0) {
        wake_.wait_for(lock, left);  // an earlier one may come
        continue;
      }
      const auto call = first->second.call;
      calls_.erase(first);
      lock.unlock();
      call->function(call->data);
      call->returned.store(true, std::memory_order_release);
      start_what_is_behind();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::multimap<Nanoseconds, Due> calls_;  // by when they begin; at one time in the order of adding
};

}  // namespace

void start_host_call(const std::shared_ptr<HostCall>& call, const HostClock& clock,
                     Nanoseconds begin) {
  static auto* const caller = new Caller;  // outlives exit handlers
  caller->add(call, clock, begin);
}

}  // namespace simgpu
