// How many threads launch: while it is one, nothing it does needs an instruction that locks the
// bus.
#pragma once

#include "sys/thread_state.hpp"
#include "timer/launch_table.hpp"

#include <array>
#include <atomic>
#include <cstddef>

namespace inline_prof::launch {

// True once a second thread has launched.
extern constinit std::atomic<bool> several_threads_launch;

// The assembly of cuLaunchKernel reads it under this name.
struct alignas(64) CountingLine {
  // The pointer of the only thread that launches, while launches are counted and nothing else is
  // asked of them (LaunchFilter::count_alone_from_now_on); null at all other times.
  std::atomic<void*> thread{nullptr};
  // Functions with whose launches an iteration may begin.  A period is recognised by its anchor and
  // its first kernel.
  static constexpr std::size_t kBoundaries = 2;
  std::array<std::atomic<const void*>, kBoundaries> boundaries{};
  // True while the thread that launched first is between reading a count and writing it.
  std::atomic<bool> first_thread_counts{false};
};
extern constinit CountingLine counting __asm__("inline_prof_counting_line");

// Before any launch is counted.
void prepare_for_launching_threads() noexcept;
// Returns when the thread that launched first counts as all others do.
[[gnu::cold]] void note_first_launch_of_thread() noexcept;

[[nodiscard, gnu::always_inline]] inline bool is_one_of_several_threads() noexcept {
  if (!sys::this_thread.launches) [[unlikely]]
    note_first_launch_of_thread();
  return several_threads_launch.load(std::memory_order_relaxed);
}

// Counts one launch; false if the caller must examine it.
[[nodiscard, gnu::always_inline]] inline bool count_quietly(timer::LaunchSlot& slot) noexcept {
  if (is_one_of_several_threads()) return slot.count_quietly(true);
  // Stored before the other threads are asked about.  The second thread makes the processor keep
  // that order: its membarrier() takes the place of a locked instruction here.
  counting.first_thread_counts.store(true, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const bool several_threads = several_threads_launch.load(std::memory_order_relaxed);
  const bool is_counted = slot.count_quietly(several_threads);
  counting.first_thread_counts.store(false, std::memory_order_release);
  return is_counted;
}

}  // namespace inline_prof::launch
