#include "hook/start.hpp"

#include "hook/guard.hpp"
#include "sys/large_stack.hpp"
#include "sys/lifecycle.hpp"

namespace inline_prof::hook {

void start_once() noexcept {
  // A plain load first, so that threads do not fight over the cache line.
  if (sys::lifecycle.load(std::memory_order_acquire) != sys::Lifecycle::kDormant) return;
  auto expected = sys::Lifecycle::kDormant;
  if (!sys::lifecycle.compare_exchange_strong(expected, sys::Lifecycle::kStarting)) return;
  sys::on_large_stack([] { fenced("start", inline_prof_start); });
}

}  // namespace inline_prof::hook
