#include "hook/observer.hpp"

namespace inline_prof::hook {
namespace {

constinit std::atomic<Observer*> the_observer{nullptr};

}  // namespace

Observer* observer() noexcept {
  return the_observer.load(std::memory_order_acquire);
}

void set_observer(Observer* observer) noexcept {
  the_observer.store(observer, std::memory_order_release);
}

}  // namespace inline_prof::hook
