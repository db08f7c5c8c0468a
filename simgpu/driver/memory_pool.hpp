// What cuMemAllocAsync takes from: counts of bytes, since the memory itself comes from the system.
#pragma once

#include "driver/vendor_cuda.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>

namespace simgpu {

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
  // Of what is free, the threshold is kept: here at once, and not from the next synchronisation on.
  void give_back(std::uint64_t bytes) {
    used -= bytes;
    keep(release_threshold);
  }
  void keep(std::uint64_t bytes) { reserved = std::max(used, std::min(reserved, bytes)); }
};

}  // namespace simgpu
