#include "launch/launch_filter.hpp"

#include "sys/lifecycle.hpp"

#include <algorithm>

namespace inline_prof::launch {

constinit LaunchFilter filter;

void LaunchFilter::open() noexcept {
  sys::set_filter(sys::kEveryLaunch);
}

void LaunchFilter::refresh() noexcept {
  if (!sys::is_on()) return;
  if (!is_held_open()) sys::set_filter(handles_.load(std::memory_order_relaxed));
  // Also if another thread has added a reason meanwhile.
  if (is_held_open()) open();
}

void LaunchFilter::count_alone_from_now_on() noexcept {
  counting.thread.store(__builtin_thread_pointer());
  // Who changes one of these clears it afterwards, or is seen here.
  if (several_threads_launch.load() || reasons_.load() != kCounting || is_left_to_cupti_.load())
    counting.thread.store(nullptr);
}

void LaunchFilter::add(Reason reason) noexcept {
  reasons_.fetch_or(reason);
  counting.thread.store(nullptr);
  open();
}

bool LaunchFilter::remove(Reason reason) noexcept {
  const std::uint32_t before = reasons_.fetch_and(~std::uint32_t{reason});
  counting.thread.store(nullptr);
  if ((before & reason) == 0) return false;
  refresh();
  return true;
}

void LaunchFilter::capture_begins() noexcept {
  reasons_.fetch_add(kOneCapture);
  counting.thread.store(nullptr);
  open();
}

std::uint32_t LaunchFilter::capture_ends() noexcept {
  std::uint32_t why = reasons_.load(std::memory_order_relaxed);
  while ((why & kCapturing) != 0 && !reasons_.compare_exchange_weak(why, why - kOneCapture)) {
  }
  if (why / kOneCapture > 1) return why / kOneCapture - 1;
  refresh();
  return 0;
}

void LaunchFilter::arm(std::span<const void* const> functions, std::uint64_t handles) noexcept {
  armed_count_.store(0, std::memory_order_release);
  for (std::size_t i = 0; i < functions.size(); ++i)
    armed_[i].store(functions[i], std::memory_order_relaxed);
  armed_count_.store(static_cast<std::uint32_t>(functions.size()), std::memory_order_release);
  handles_.store(handles, std::memory_order_relaxed);
  refresh();
}

void LaunchFilter::add_handle(const void* handle) noexcept {
  const auto bit = std::uint64_t{1} << sys::filter_bit(handle);
  handles_.fetch_or(bit, std::memory_order_relaxed);
  sys::add_to_filter(bit);
}

bool LaunchFilter::settle_copy(const void* key, const void* stream,
                               timer::LaunchSlot*& counted) noexcept {
  const std::uint32_t why = reasons_.load(std::memory_order_relaxed);
  if ((why & kCapturing) != 0) return false;
  if ((why & kCounting) == 0) return is_settled(key, why);
  timer::LaunchSlot* slot = is_boundary(key) ? nullptr : table.find(key, stream);
  if (slot == nullptr || !slot->count_quietly(true)) return false;
  counted = slot;
  return true;
}

bool LaunchFilter::examines_copies() const noexcept {
  if (has(kCounting | kMeasuringAll | kSitesLost | kCapturing)) return true;
  const auto are_copies = [](const auto& functions, std::size_t count) {
    return std::any_of(functions.begin(), functions.begin() + count, [](const auto& function) {
      return is_copy(function.load(std::memory_order_relaxed));
    });
  };
  return are_copies(counting.boundaries, counting.boundaries.size()) ||
         are_copies(armed_, armed_count_.load(std::memory_order_acquire));
}

bool LaunchFilter::only_marks(const void* handle) const noexcept {
  return !has(kCounting | kExamined | kCapturing) &&
         (handles_.load(std::memory_order_relaxed) >> sys::filter_bit(handle) & 1U) == 0;
}

}  // namespace inline_prof::launch
