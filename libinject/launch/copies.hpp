// Copies, fills and operations of streams on memory: what the driver does without a kernel.  They
// are counted and measured as launches are.  What a kernel's handle is to a launch, an address of
// ours is to these, one for each kind.
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

// Of what key_of() gives.
[[nodiscard]] inline CopyKind kind_of(const void* key) noexcept {
  return static_cast<CopyKind>(static_cast<const CopyKey*>(key) - copy_keys.data());
}

// True for what key_of() gives.
[[nodiscard]] inline bool is_copy(const void* function) noexcept {
  return function >= copy_keys.data() && function < copy_keys.data() + copy_keys.size();
}

// The name of its events: "memcpy_HtoD".
[[nodiscard]] const char* name_of(CopyKind kind) noexcept;

// What it moves, and between which memories.  `source`: the call that said so.
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
