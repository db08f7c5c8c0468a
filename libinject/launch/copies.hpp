// Copies, fills and operations of streams on memory, which the driver makes without a kernel.  They
// are counted and measured as launches are; an address of ours, one for each kind, stands for the
// kernel's handle.
#pragma once

#include "record/event_record.hpp"

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace inline_prof::launch {

enum class CopyKind : std::uint8_t {
  kHostToDevice,
  kPageableToDevice,  // from memory of the host that the device cannot read: staged by the driver
  kDeviceToHost,
  kDeviceToPageable,
  kDeviceToDevice,
  kPeer,  // from one device to another
  kHostToHost,
  kFill,
  kWriteValue,  // a stream writes one value
  kWaitValue,   // a stream waits for one
};
inline constexpr std::size_t kCopyKinds = 10;

struct Copy {
  CopyKind kind = CopyKind::kHostToHost;
  std::uint64_t bytes = 0;  // 0: nothing is done
};

// Only its address counts; the filter has a bit for each 16 bytes.
struct alignas(16) CopyKey {
  std::array<std::byte, 16> unused{};
};
extern constinit std::array<CopyKey, kCopyKinds> copy_keys;

[[nodiscard]] inline CUfunction key_of(CopyKind kind) noexcept {
  // Never given to the driver.
  return reinterpret_cast<CUfunction>(&copy_keys[static_cast<std::size_t>(kind)]);
}

// Inverts key_of().
[[nodiscard]] inline CopyKind kind_of(const void* key) noexcept {
  return static_cast<CopyKind>(static_cast<const CopyKey*>(key) - copy_keys.data());
}

// True for a key of key_of().
[[nodiscard]] inline bool is_copy(const void* function) noexcept {
  return function >= copy_keys.data() && function < copy_keys.data() + copy_keys.size();
}

// The name of its events: "memcpy_HtoD".
[[nodiscard]] const char* name_of(CopyKind kind) noexcept;

// Describes the bytes and memories of a copy.  `source`: the call that made it.
[[nodiscard]] record::Op op_of(const Copy& copy, std::string_view source);

// Between two addresses of unified memory.  Asks the driver where they are.
[[nodiscard]] Copy copy_between(CUdeviceptr to, CUdeviceptr from, std::uint64_t bytes) noexcept;
[[nodiscard]] Copy copy_to_device(const void* from, std::uint64_t bytes) noexcept;
[[nodiscard]] Copy copy_from_device(const void* to, std::uint64_t bytes) noexcept;
// Null: nothing.
[[nodiscard]] Copy copy_of(const CUDA_MEMCPY2D* plane) noexcept;
[[nodiscard]] Copy copy_of(const CUDA_MEMCPY3D* box) noexcept;
[[nodiscard]] Copy copy_of(const CUDA_MEMCPY3D_PEER* box) noexcept;
// The sum of cuMemcpy3DBatchAsync's CUDA_MEMCPY3D_BATCH_OP, which older toolkits do not declare, of
// the kind of its first one.  Those of CUDA arrays count nothing: their elements have any size.
[[nodiscard]] Copy copy_of_boxes(const void* boxes, std::size_t count) noexcept;
[[nodiscard]] Copy copy_of(const CUstreamBatchMemOpParams* operations, unsigned count) noexcept;

}  // namespace inline_prof::launch
