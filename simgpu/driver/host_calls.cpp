#include "driver/host_calls.hpp"

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

namespace simgpu {
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
