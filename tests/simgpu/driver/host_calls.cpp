#include "driver/host_calls.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace inline_prof::simgpu {
namespace {

class Caller {
 public:
  Caller() {
    std::thread([this] { run(); }).detach();  // ends with the process
  }

  void add(const std::shared_ptr<HostCall>& call) {
    {
      const std::lock_guard lock(mutex_);
      calls_.push_back(call);
    }
    wake_.notify_one();
  }

 private:
  [[noreturn]] void run() {
    while (true) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return !calls_.empty(); });
      const auto call = calls_.front();
      calls_.pop_front();
      lock.unlock();
      call->function(call->data);
      call->returned.store(true, std::memory_order_release);
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<HostCall>> calls_;
};

}  // namespace

void start_host_call(const std::shared_ptr<HostCall>& call) {
  static auto* const caller = new Caller;  // outlives exit handlers
  caller->add(call);
}

}  // namespace inline_prof::simgpu
