// Memory of the simulated devices.  A device pointer is an address in this process, backed by pages
// that appear when touched: copies and fills really move bytes, and a model of 141 GB costs
// nothing.
#pragma once

#include "driver/context.hpp"
#include "driver/vendor_cuda.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

namespace simgpu {

enum class MemoryKind { kDevice, kManaged, kHost, kRegistered };

struct Allocation {
  std::uintptr_t base = 0;
  std::size_t bytes = 0;
  std::size_t mapped_bytes = 0;  // 0: not ours to unmap
  std::size_t device_bytes = 0;  // what it takes of the device's memory
  MemoryKind kind = MemoryKind::kDevice;
  Context* context = nullptr;
  unsigned flags = 0;
  bool stream_ordered = false;         // from cuMemAllocAsync
  std::shared_ptr<MemoryPool> pool{};  // of stream-ordered memory
  std::uint64_t graph_memory_id = 0;   // of an allocation node; 0: of none
  int file = -1;                       // that its pages belong to, if processes share it
};

class Memory {
 public:
  // Returns null if the system or the device has no more.
  Allocation* allocate(Context& context, std::size_t bytes, MemoryKind kind, unsigned flags);
  Allocation* adopt(Context& context, void* base, std::size_t bytes, unsigned flags);

  // From now on the pages belong to a file, with what is in them; false if the system has no more.
  [[nodiscard]] static bool share(Allocation& allocation);
  // Memory of another process, in its `file`, which is the allocation's from now on.  Null if it
  // cannot be mapped.
  Allocation* open(Context& context, int file, std::size_t bytes);

  // The allocation that contains `address`, or null.
  [[nodiscard]] Allocation* find(std::uintptr_t address);
  [[nodiscard]] bool is_device(const void* address);

  // Copies to device memory are noted, since a program's allocator uses it again: a number that it
  // reads where something larger was copied to is a kernel's, and was never computed.
  void note_copy(const void* to, std::size_t bytes);
  [[nodiscard]] bool holds_part_of_copy(const void* at, std::size_t bytes) const;

  void release(const Allocation& allocation);
  void release_all_of(const Context& context);

 private:
  std::map<std::uintptr_t, Allocation> allocations_;  // by base address
  std::map<std::uintptr_t, std::size_t> copies_;      // bytes, by where they were copied to
};

// The pools of cuMemAllocAsync only count bytes; the memory itself comes from the system.

struct Device;

struct MemoryPool {
  Device* device = nullptr;
  CUmemPoolProps properties{};
  std::uint64_t release_threshold = 0;
  std::uint64_t used = 0, used_high = 0;
  std::uint64_t reserved = 0, reserved_high = 0;
  std::array<int, 3> reuse{1, 1, 1};          // accepted, and without effect: memory is always new
  std::map<int, CUmemAccess_flags> access{};  // of other devices

  void take(std::uint64_t bytes) {
    used += bytes;
    used_high = std::max(used_high, used);
    reserved = std::max(reserved, used);
    reserved_high = std::max(reserved_high, reserved);
  }
  // Keeps the threshold's share of what is free: at once, not from the next synchronisation on.
  void give_back(std::uint64_t bytes) {
    used -= bytes;
    keep(release_threshold);
  }
  void keep(std::uint64_t bytes) { reserved = std::max(used, std::min(reserved, bytes)); }
};

}  // namespace simgpu
