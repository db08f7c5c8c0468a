// Finds our records by handles that are not ours: the driver's or a tool's.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace inline_prof::sys {

// Lock-free for readers.  One caller at a time changes it.  A handle without a record keeps its
// place, so that probing still finds those behind it; the next handle may take it.
template <typename Handle, typename Record, std::size_t kSize>
class HandleTable {
 public:
  using Place = std::atomic<Record*>;

  // Null if there is none.
  [[nodiscard]] Record* find(Handle handle) noexcept {
    const Place* place = place_of(handle, false);
    return place == nullptr ? nullptr : place->load(std::memory_order_acquire);
  }

  // Null if the handle has no place, and none may be inserted or all probed ones are taken.
  [[nodiscard]] Place* place_of(Handle handle, bool may_insert) noexcept {
    Entry* vacant = nullptr;
    for (std::size_t probe = 0; probe < kLongestProbe; ++probe) {
      Entry& entry = entries_[(home(handle) + probe) % kSize];
      const Handle here = entry.handle.load(std::memory_order_acquire);
      if (here == handle) return &entry.record;
      if (vacant == nullptr &&
          (here == nullptr || entry.record.load(std::memory_order_relaxed) == nullptr))
        vacant = &entry;
      if (here == nullptr) break;
    }
    if (!may_insert || vacant == nullptr) return nullptr;
    vacant->record.store(nullptr, std::memory_order_relaxed);
    vacant->handle.store(handle, std::memory_order_release);
    return &vacant->record;
  }

 private:
  static constexpr std::size_t kLongestProbe = 64;

  struct Entry {
    std::atomic<Handle> handle{nullptr};
    Place record{nullptr};
  };

  // Multiplicative hashing (D. E. Knuth, The Art of Computer Programming vol. 3, section 6.4).
  static std::size_t home(Handle handle) noexcept {
    return reinterpret_cast<std::uintptr_t>(handle) * 0x9E3779B97F4A7C15ULL >> 32;
  }

  std::array<Entry, kSize> entries_{};
};

}  // namespace inline_prof::sys
