#include "sys/lifecycle.hpp"

#include "sys/hot_line.hpp"
#include "sys/large_stack.hpp"
#include "sys/log.hpp"

#include <cstdio>

namespace inline_prof::sys {

constinit HotLine hot_line;
constinit std::atomic<Lifecycle> lifecycle{Lifecycle::kDormant};

namespace {

constinit std::atomic<unsigned long> vendor_errors{0};
constinit std::atomic<unsigned> vendor_errors_in_a_row{0};

// One failed event is dropped; a mechanism that fails this often in a row is broken.
constexpr unsigned kErrorsInARow = 16;

// Written once, by the thread that switches off; others read it once it is complete.
constinit char reason[256] = "";
constinit std::atomic<bool> has_reason{false};

constinit std::atomic<void (*)() noexcept> off_handler{nullptr};

bool switch_off() noexcept {
  const bool first = lifecycle.exchange(Lifecycle::kOff) != Lifecycle::kOff;
  hot_line.filter.store(kNoLaunch);
  const auto handler = first ? off_handler.load() : nullptr;
  if (handler != nullptr) handler();
  return first;
}

}  // namespace

void turn_off(const char* where, const char* why) noexcept {
  if (!switch_off()) return;
  on_large_stack([&] { std::snprintf(reason, sizeof reason, "%s: %s", where, why); });
  has_reason.store(true, std::memory_order_release);
  say(LogLevel::kError, "profiling is off: %s", reason);
}

const char* off_reason() noexcept {
  return has_reason.load(std::memory_order_acquire) ? reason : "";
}

void turn_off_silently() noexcept {
  switch_off();
}

void set_filter(std::uint64_t filter) noexcept {
  hot_line.filter.store(filter);
  if (lifecycle.load() == Lifecycle::kOff) hot_line.filter.store(kNoLaunch);
}

void add_to_filter(std::uint64_t bits) noexcept {
  hot_line.filter.fetch_or(bits);
  if (lifecycle.load() == Lifecycle::kOff) hot_line.filter.store(kNoLaunch);
}

void call_when_off(void (*handler)() noexcept) noexcept {
  off_handler.store(handler);
}

void count_vendor_error(const char* function, int code) noexcept {
  vendor_errors.fetch_add(1, std::memory_order_relaxed);
  if (vendor_errors_in_a_row.fetch_add(1, std::memory_order_relaxed) + 1 < kErrorsInARow) return;
  char why[64];
  std::snprintf(why, sizeof why, "failed %u times in a row (CUresult %d)", kErrorsInARow, code);
  turn_off(function, why);
}

void count_vendor_success() noexcept {
  if (vendor_errors_in_a_row.load(std::memory_order_relaxed) != 0)
    vendor_errors_in_a_row.store(0, std::memory_order_relaxed);
}

unsigned long vendor_error_count() noexcept {
  return vendor_errors.load(std::memory_order_relaxed);
}

}  // namespace inline_prof::sys
