#include "session/waking.hpp"

#include <atomic>

namespace inline_prof::session::waking {
namespace {

constinit std::atomic<Schedule> schedule_wake{nullptr};
constinit std::atomic<Work> work_of_wake{nullptr};
constinit std::atomic<bool> is_due{false};

}  // namespace

void set(Schedule schedule, Work work) noexcept {
  work_of_wake.store(work, std::memory_order_relaxed);
  schedule_wake.store(work == nullptr ? nullptr : schedule, std::memory_order_release);
}

bool is_possible() noexcept {
  return schedule_wake.load(std::memory_order_relaxed) != nullptr;
}

void wake() noexcept {
  const Schedule schedule = schedule_wake.load(std::memory_order_acquire);
  if (schedule == nullptr) return;
  is_due.store(schedule(work_of_wake.load(std::memory_order_relaxed), nullptr) != 0,
               std::memory_order_relaxed);
}

void retry() noexcept {
  if (is_due.load(std::memory_order_relaxed)) wake();
}

}  // namespace inline_prof::session::waking
