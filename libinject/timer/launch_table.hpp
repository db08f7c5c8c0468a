// Counts launches by (function, stream) without locks; used for every launch during discovery.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace inline_prof::timer {

// Uncounts a launch that failed. The count may have been reset meanwhile.
inline void take_back(std::atomic<std::uint32_t>& count) noexcept {
  auto now = count.load(std::memory_order_relaxed);
  while (now > 0 && !count.compare_exchange_weak(now, now - 1, std::memory_order_relaxed)) {
  }
}

// One function (a kernel's handle, or a macro label) on one stream.
struct LaunchSlot {
  std::atomic<const void*> function{nullptr};
  std::atomic<const void*> stream{nullptr};
  std::atomic<std::uint32_t> count{0};  // in this iteration
  std::atomic<std::uint32_t> limit{0};  // from this count on each launch is examined
  std::atomic<void*> owner{nullptr};    // the caller's record of the pair

  // Takes over from `old`, which its owner leaves.
  void take_counts_of(const LaunchSlot& old) noexcept {
    owner.store(old.owner.load(std::memory_order_relaxed), std::memory_order_release);
    count.fetch_add(old.count.load(std::memory_order_relaxed), std::memory_order_relaxed);
    limit.store(old.limit.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }

  // Counts one launch. Returns false if the caller must examine it. With one launching thread this
  // is a load and a store; the locked instruction that several threads need costs 5 ns
  // (launch/launching_threads.hpp).
  [[nodiscard, gnu::always_inline]] bool count_quietly(bool several_threads) noexcept {
    auto launches = count.load(std::memory_order_relaxed);
    if (launches >= limit.load(std::memory_order_relaxed)) return false;
    if (!several_threads) {
      count.store(launches + 1, std::memory_order_relaxed);
      return true;
    }
    while (!count.compare_exchange_weak(launches, launches + 1, std::memory_order_relaxed)) {
      if (launches >= limit.load(std::memory_order_relaxed)) return false;
    }
    return true;
  }
};

class LaunchTable {
 public:
  // 8192 slots, 256 KiB that stay untouched until used: a model of a few hundred kernels on a few
  // streams and eight devices. Launches beyond that are forwarded and counted as lost.
  static constexpr std::size_t kSize = 8192;
  static constexpr std::size_t kLongestProbe = 64;

  // Returns null if it is not in the table.
  [[nodiscard, gnu::always_inline]] LaunchSlot* find(const void* function,
                                                     const void* stream) noexcept {
    LaunchSlot& first = slots_[home(function, stream)];
    if (first.function.load(std::memory_order_acquire) == function &&
        first.stream.load(std::memory_order_relaxed) == stream) [[likely]]
      return &first;
    return probe(function, stream);
  }

  // The same, not always inline.
  [[nodiscard, gnu::noinline]] LaunchSlot* probe(const void* function,
                                                 const void* stream) noexcept {
    std::size_t at = home(function, stream);
    for (std::size_t probe = 0; probe < kLongestProbe; ++probe, at = (at + 1) % kSize) {
      LaunchSlot& slot = slots_[at];
      const void* here = slot.function.load(std::memory_order_acquire);
      if (here == function && slot.stream.load(std::memory_order_relaxed) == stream) return &slot;
      if (here == nullptr) return nullptr;
    }
    return nullptr;
  }

  // Returns null if all probed slots are taken. One caller at a time; readers need no lock.
  [[nodiscard]] LaunchSlot* insert(const void* function, const void* stream) noexcept {
    std::size_t at = home(function, stream);
    for (std::size_t probe = 0; probe < kLongestProbe; ++probe, at = (at + 1) % kSize) {
      LaunchSlot& slot = slots_[at];
      const void* here = slot.function.load(std::memory_order_relaxed);
      if (here != nullptr && here != this) continue;
      slot.count.store(0, std::memory_order_relaxed);
      slot.limit.store(0, std::memory_order_relaxed);
      shapes_of(slot).store(0, std::memory_order_relaxed);
      slot.owner.store(nullptr, std::memory_order_relaxed);
      slot.stream.store(stream, std::memory_order_relaxed);
      slot.function.store(function, std::memory_order_release);
      return &slot;
    }
    return nullptr;
  }

  // Empties the slot. `this` marks a deleted slot, so that entries placed after it are still found.
  void vacate(LaunchSlot& slot) noexcept { slot.function.store(this, std::memory_order_release); }

  // A lookup that runs meanwhile may miss its entry.
  void clear() noexcept {
    for (LaunchSlot& slot : slots_)
      slot.function.store(nullptr, std::memory_order_release);
  }

  // Returns the sum of the launches' hashes, which phases are told apart by. Kept apart from the
  // slots, of which two fill a cache line.
  [[nodiscard]] std::atomic<std::uint32_t>& shapes_of(const LaunchSlot& slot) noexcept {
    return shapes_[index_of(slot)];
  }

  [[nodiscard]] std::size_t index_of(const LaunchSlot& slot) const noexcept {
    return static_cast<std::size_t>(&slot - slots_.data());
  }

 private:
  static std::size_t home(const void* function, const void* stream) noexcept {
    const auto f = std::uint64_t{reinterpret_cast<std::uintptr_t>(function)};
    const auto s = std::uint64_t{reinterpret_cast<std::uintptr_t>(stream)};
    // Multiplicative hashing (D. E. Knuth, The Art of Computer Programming vol. 3, section 6.4), as
    // in launch_x86_64.S.  Two addresses differ in their lower halves.
    const std::uint64_t mixed = (f ^ std::rotl(s, 32)) * 0x9E3779B97F4A7C15ULL;
    return static_cast<std::size_t>(mixed >> 51);  // the upper 13 bits: 0..8191
  }

  std::array<LaunchSlot, kSize> slots_{};
  std::array<std::atomic<std::uint32_t>, kSize> shapes_{};
};

}  // namespace inline_prof::timer
