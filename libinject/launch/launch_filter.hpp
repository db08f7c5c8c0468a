// Which launches are examined: the exact check behind the filter word that every launch reads
// (sys/hot_line.hpp), and the one list of reasons for which every launch is.
#pragma once

#include "launch/copies.hpp"
#include "launch/launching_threads.hpp"
#include "sys/hot_line.hpp"
#include "timer/launch_table.hpp"
#include "timer/stream_sharing.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace inline_prof::launch {

class LaunchFilter {
 public:
  // Each one opens the filter for every launch as long as it holds.
  enum Reason : std::uint32_t {
    kCounting = 1U << 0U,      // launches are counted: from start-up until the plan is made
    kSearching = 1U << 1U,     // iterations are searched for
    kMeasuringAll = 1U << 2U,  // every launch of this iteration is measured
    kSitesLost = 1U << 3U,     // a lost site is searched for
    kComparing = 1U << 4U,     // the iteration is compared with the warm-up's
    kMarking = 1U << 5U,       // every launch is marked, so that others see it; it is not examined
    kCapturing = ~0U << 8U,    // the number of open captures, in units of kOneCapture
  };

  // Eight GPUs with eight streams each.
  static constexpr std::size_t kMostArmed = 64;
  static constexpr std::size_t kBoundaries = CountingLine::kBoundaries;

  // Launches by function and stream, while they are counted.  Static, so that it takes no room in
  // the library's file: the other members are not all 0.  Public, as `filter.table`, and known by
  // name to the assembly of cuLaunchKernel.
  // NOLINTNEXTLINE(readability-identifier-naming)
  static inline constinit timer::LaunchTable table __asm__("inline_prof_launch_table");

  [[nodiscard]] bool has(std::uint32_t any_of) const noexcept {
    return (reasons_.load(std::memory_order_relaxed) & any_of) != 0;
  }
  // The same, with what was written before the reason was added.
  [[nodiscard]] bool has_acquired(std::uint32_t any_of) const noexcept {
    return (reasons_.load(std::memory_order_acquire) & any_of) != 0;
  }
  void add(Reason reason) noexcept;
  // True if it was there.
  bool remove(Reason reason) noexcept;
  void capture_begins() noexcept;
  // Returns the number of captures that are still open.
  std::uint32_t capture_ends() noexcept;

  // Before a pair is opened, so that another thread's launch in between is noticed; and after it
  // was closed.
  void open() noexcept;
  void refresh() noexcept;

  // The functions (or labels, or graphs) of this iteration's armed events.  `handles`: the filter
  // bits of their handles, and of those of the boundaries.
  void arm(std::span<const void* const> functions, std::uint64_t handles) noexcept;
  // The armed function at this place has another handle from now on.
  void rename(std::size_t place, const void* function) noexcept {
    armed_[place].store(function, std::memory_order_release);
  }
  // The handle is one of something armed, or of a boundary.
  void add_handle(const void* handle) noexcept;
  [[nodiscard]] bool is_armed(const void* function) const noexcept {
    const auto count = armed_count_.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (armed_[i].load(std::memory_order_relaxed) == function) return true;
    }
    return false;
  }
  [[nodiscard]] bool measures_something() const noexcept {
    return armed_count_.load(std::memory_order_relaxed) != 0 || has(kMeasuringAll);
  }

  // Functions with whose launches an iteration may begin: examined whatever is armed.
  [[nodiscard]] bool is_boundary(const void* function) const noexcept {
    return boundary(0) == function || boundary(1) == function;
  }
  [[nodiscard]] const void* boundary(std::size_t i) const noexcept {
    return counting.boundaries[i].load(std::memory_order_relaxed);
  }
  void set_boundary(std::size_t i, const void* function) noexcept {
    counting.boundaries[i].store(function, std::memory_order_relaxed);
  }

  // Returns true if the launch only has to be forwarded.  While launches are counted, that is one
  // whose slot exists already (it is counted here); later, one whose function only shares a filter
  // bit with an armed one.  `counted`: its slot, if it was counted.  Inline, so that the wrappers
  // keep the launch's arguments in their registers: a call here would cost 4 ns a launch.
  [[nodiscard, gnu::always_inline]] bool settle(const void* function, const void* stream,
                                                timer::LaunchSlot*& counted) noexcept {
    const std::uint32_t why = reasons_.load(std::memory_order_relaxed);
    if ((why & kCapturing) != 0) return false;
    if ((why & kCounting) == 0) return is_settled(function, why);
    if ((why & kSearching) != 0 || is_boundary(function)) return false;
    timer::LaunchSlot* slot = table.find(function, stream);
    if (slot == nullptr || !count_quietly(*slot)) return false;
    counted = slot;
    if (why == kCounting && counting.thread.load(std::memory_order_relaxed) == nullptr &&
        !several_threads_launch.load(std::memory_order_relaxed)) [[unlikely]]
      count_alone_from_now_on();
    return true;
  }
  // The same, for our wrappers.
  [[nodiscard, gnu::always_inline]] bool settle_wrapped(const void* function, const void* stream,
                                                        timer::LaunchSlot*& counted) noexcept {
    return is_left_to_cupti() || settle(function, stream, counted);
  }
  // Copies of all threads share a few slots: they are counted as where several threads launch.
  [[nodiscard]] bool settle_copy(const void* key, const void* stream,
                                 timer::LaunchSlot*& counted) noexcept;
  // False if no copy of this iteration is examined, though the filter may be open.
  [[nodiscard]] bool examines_copies() const noexcept;
  // True if a launch is let through for its mark alone.
  [[nodiscard]] bool only_marks(const void* handle) const noexcept;

  // Launches are seen through CUPTI; our wrappers then only forward.
  [[nodiscard]] bool is_left_to_cupti() const noexcept {
    return is_left_to_cupti_.load(std::memory_order_relaxed);
  }
  void leave_to_cupti() noexcept {
    is_left_to_cupti_.store(true);
    counting.thread.store(nullptr);
  }
  // Whether our wrappers mark this launch (timer/stream_sharing.hpp): no other thread can look for
  // a mark, or spoil a pair, while only one launches.
  [[nodiscard]] bool is_to_be_marked() const noexcept {
    return is_one_of_several_threads() && !is_left_to_cupti();
  }

  // Waits of the host are reported: they tell where iterations end, or hint that no more come.
  [[nodiscard]] bool wants_waits() const noexcept { return has(kSearching) || wants_hints(); }
  [[nodiscard]] bool wants_hints() const noexcept {
    return wants_hints_.load(std::memory_order_relaxed);
  }
  void ask_for_hints(bool wanted) noexcept {
    wants_hints_.store(wanted, std::memory_order_relaxed);
  }

 private:
  [[gnu::cold, gnu::noinline]] void count_alone_from_now_on() noexcept;

  static constexpr std::uint32_t kOneCapture = 1U << 8U;
  static constexpr std::uint32_t kExamined = kSearching | kMeasuringAll | kSitesLost | kComparing;

  [[nodiscard]] bool is_settled(const void* function, std::uint32_t why) const noexcept {
    return (why & kExamined) == 0 && !is_boundary(function) && !is_armed(function);
  }
  [[nodiscard]] bool is_held_open() const noexcept {
    return has(~0U) || timer::exclusive_uses.load(std::memory_order_relaxed) != 0;
  }

  std::atomic<std::uint32_t> reasons_{kCounting};
  std::atomic<std::uint64_t> handles_{sys::kNoLaunch};  // filter bits of what is armed
  std::array<std::atomic<const void*>, kMostArmed> armed_{};
  std::atomic<std::uint32_t> armed_count_{0};
  std::atomic<bool> is_left_to_cupti_{false};
  std::atomic<bool> wants_hints_{false};
};

// One object, made before any call: a wrapper may be the first function of ours that runs.
extern constinit LaunchFilter filter;

}  // namespace inline_prof::launch
