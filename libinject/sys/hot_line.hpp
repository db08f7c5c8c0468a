// The data that every launch of the application reads: one cache line.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace inline_prof::sys {

inline constexpr std::uint64_t kNoLaunch = 0;         // every launch is a plain tail jump
inline constexpr std::uint64_t kEveryLaunch = ~0ULL;  // start-up, and while launches are counted

// The first two entries of each array stand for the legacy and the per-thread default stream; the
// third is for a driver that hands out one more address under the same name.
inline constexpr std::size_t kSlotsPerFunction = 3;

// `filter` holds a bit per armed function handle (filter_bit); if it is set, the exact check
// follows. `kernel` and `kernel_ex` are the driver's functions behind our wrappers. They are here
// so that a launch that is not measured touches no other memory of ours.
struct alignas(64) HotLine {
  std::atomic<std::uint64_t> filter{kEveryLaunch};
  std::array<std::atomic<void*>, kSlotsPerFunction> kernel{};
  std::array<std::atomic<void*>, kSlotsPerFunction> kernel_ex{};
};
static_assert(sizeof(HotLine) == 64);

// The assembly of the launch wrappers reads it under this name.
extern constinit HotLine hot_line __asm__("inline_prof_hot_line");

// Handles are heap addresses, so their low four bits are always 0.
[[nodiscard]] inline unsigned filter_bit(const void* function) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(function);
  return static_cast<unsigned>((address >> 4) ^ (address >> 12)) & 63U;
}

[[nodiscard]] inline bool may_be_armed(const void* function) noexcept {
  // relaxed: a launch that misses a change of the filter costs one sample.
  return ((hot_line.filter.load(std::memory_order_relaxed) >> filter_bit(function)) & 1U) != 0;
}

}  // namespace inline_prof::sys
