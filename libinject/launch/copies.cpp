#include "launch/copies.hpp"

#include "sys/cuda_api.hpp"
#include "timer/driver_scope.hpp"

#include <inline_prof/op_kind.hpp>

#include <string>

namespace inline_prof::launch {

alignas(256) constinit std::array<CopyKey, kCopyKinds> copy_keys;

namespace {

struct KindWords {
  CopyKind kind;
  const char* name;
  const char* direction;
  const char* host_memory = nullptr;
};

// In the order of CopyKind.
constexpr std::array<KindWords, kCopyKinds> kKindWords{{
    {CopyKind::kHostToDevice, "memcpy_HtoD", "host_to_device", "pinned"},
    {CopyKind::kPageableToDevice, "memcpy_HtoD_pageable", "host_to_device", "pageable"},
    {CopyKind::kDeviceToHost, "memcpy_DtoH", "device_to_host", "pinned"},
    {CopyKind::kDeviceToPageable, "memcpy_DtoH_pageable", "device_to_host", "pageable"},
    {CopyKind::kDeviceToDevice, "memcpy_DtoD", "device_to_device"},
    {CopyKind::kPeer, "memcpy_PtoP", "peer"},
    {CopyKind::kHostToHost, "memcpy_HtoH", "host_to_host"},
    {CopyKind::kFill, "memset", "fill"},
    {CopyKind::kWriteValue, "stream_write_value", "write_value"},
    {CopyKind::kWaitValue, "stream_wait_value", "wait_value"},
}};
static_assert([] {
  for (std::size_t i = 0; i < kKindWords.size(); ++i) {
    if (kKindWords[i].kind != static_cast<CopyKind>(i)) return false;
  }
  return true;
}());

const KindWords& words_of(CopyKind kind) noexcept {
  return kKindWords[static_cast<std::size_t>(kind)];
}

// The memory at one end of a copy.
struct Place {
  enum class Memory : std::uint8_t { kDevice, kPinned, kPageable };
  Memory memory = Memory::kDevice;
  int device = -1;  // -1: not asked

  [[nodiscard]] bool is_host() const noexcept { return memory != Memory::kDevice; }
};

Place place_of(CUdeviceptr address) noexcept {
  const auto ask = sys::cuda().cuPointerGetAttribute;
  if (ask == nullptr) return {.memory = Place::Memory::kPinned};
  const timer::CaptureModeScope capture_mode;
  unsigned type = 0;
  // Memory that the driver does not know is the host's own.
  if (ask(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != CUDA_SUCCESS)
    return {.memory = Place::Memory::kPageable};
  if (type == CU_MEMORYTYPE_HOST) return {.memory = Place::Memory::kPinned};
  Place place;
  if (ask(&place.device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) != CUDA_SUCCESS)
    place.device = -1;
  return place;
}

Place place_of(const void* address) noexcept {
  return place_of(reinterpret_cast<CUdeviceptr>(address));
}

// Returns the place that a copy's descriptor names.  Arrays are on the device.
Place place_of(CUmemorytype type, const void* host, CUdeviceptr address) noexcept {
  if (type == CU_MEMORYTYPE_HOST) {
    Place place = place_of(host);
    if (!place.is_host()) place.memory = Place::Memory::kPinned;  // managed
    return place;
  }
  return type == CU_MEMORYTYPE_ARRAY ? Place{} : place_of(address);
}

CopyKind kind_between(const Place& to, const Place& from) noexcept {
  const bool is_pageable =
      to.memory == Place::Memory::kPageable || from.memory == Place::Memory::kPageable;
  if (to.is_host() && from.is_host()) return CopyKind::kHostToHost;
  if (from.is_host()) return is_pageable ? CopyKind::kPageableToDevice : CopyKind::kHostToDevice;
  if (to.is_host()) return is_pageable ? CopyKind::kDeviceToPageable : CopyKind::kDeviceToHost;
  const bool is_between_devices = to.device >= 0 && from.device >= 0 && to.device != from.device;
  return is_between_devices ? CopyKind::kPeer : CopyKind::kDeviceToDevice;
}

// `box`: CUDA_MEMCPY2D, CUDA_MEMCPY3D or CUDA_MEMCPY3D_PEER.
template <typename Box>
Copy copy_of_box(const Box& box, std::uint64_t depth) noexcept {
  return {.kind = kind_between(place_of(box.dstMemoryType, box.dstHost, box.dstDevice),
                               place_of(box.srcMemoryType, box.srcHost, box.srcDevice)),
          .bytes = depth * box.WidthInBytes * box.Height};
}

// As cuda.h has them since 12.8: CUmemcpy3DOperand and CUDA_MEMCPY3D_BATCH_OP.
struct BatchOperand {
  static constexpr int kPointer = 1;
  int type;
  CUdeviceptr address;
  std::array<std::size_t, 3> others;  // of a pointer or of an array
};
struct BatchBox {
  BatchOperand from;
  BatchOperand to;
  std::array<std::size_t, 3> extent;
  int access_order;
  unsigned flags;
};
#if CUDA_VERSION >= 12080
static_assert(sizeof(BatchBox) == sizeof(CUDA_MEMCPY3D_BATCH_OP) &&
              offsetof(BatchBox, to) == offsetof(CUDA_MEMCPY3D_BATCH_OP, dst) &&
              offsetof(BatchBox, extent) == offsetof(CUDA_MEMCPY3D_BATCH_OP, extent) &&
              offsetof(BatchBox, from.address) ==
                  offsetof(CUDA_MEMCPY3D_BATCH_OP, src.op.ptr.ptr) &&
              BatchOperand::kPointer == CU_MEMCPY_OPERAND_TYPE_POINTER);
#endif

}  // namespace

const char* name_of(CopyKind kind) noexcept {
  return words_of(kind).name;
}

record::Op op_of(const Copy& copy, std::string_view source) {
  const KindWords& words = words_of(copy.kind);
  constexpr std::string_view version = "_v2";  // the ABI suffix, stripped
  if (source.ends_with(version)) source.remove_suffix(version.size());
  record::Op op{.kind = std::string(op_kind_name(OpKind::kCopy)),
                .attributes = {},
                .source = std::string(source)};
  if (copy.bytes > 0) op.attributes.emplace_back("bytes", static_cast<std::int64_t>(copy.bytes));
  op.attributes.emplace_back("direction", std::string(words.direction));
  if (words.host_memory != nullptr)
    op.attributes.emplace_back("host_memory", std::string(words.host_memory));
  return op;
}

Copy copy_between(CUdeviceptr to, CUdeviceptr from, std::uint64_t bytes) noexcept {
  return {.kind = kind_between(place_of(to), place_of(from)), .bytes = bytes};
}

Copy copy_to_device(const void* from, std::uint64_t bytes) noexcept {
  const bool is_pageable = place_of(from).memory == Place::Memory::kPageable;
  return {.kind = is_pageable ? CopyKind::kPageableToDevice : CopyKind::kHostToDevice,
          .bytes = bytes};
}

Copy copy_from_device(const void* to, std::uint64_t bytes) noexcept {
  const bool is_pageable = place_of(to).memory == Place::Memory::kPageable;
  return {.kind = is_pageable ? CopyKind::kDeviceToPageable : CopyKind::kDeviceToHost,
          .bytes = bytes};
}

Copy copy_of(const CUDA_MEMCPY2D* plane) noexcept {
  return plane == nullptr ? Copy{} : copy_of_box(*plane, 1);
}

Copy copy_of(const CUDA_MEMCPY3D* box) noexcept {
  return box == nullptr ? Copy{} : copy_of_box(*box, box->Depth);
}

Copy copy_of(const CUDA_MEMCPY3D_PEER* box) noexcept {
  return box == nullptr ? Copy{} : copy_of_box(*box, box->Depth);
}

Copy copy_of_boxes(const void* boxes, std::size_t count) noexcept {
  const auto* const all = static_cast<const BatchBox*>(boxes);
  Copy sum;
  for (std::size_t i = 0; all != nullptr && i < count; ++i) {
    const BatchBox& box = all[i];
    if (box.from.type != BatchOperand::kPointer || box.to.type != BatchOperand::kPointer) continue;
    if (sum.bytes == 0)
      sum.kind = kind_between(place_of(box.to.address), place_of(box.from.address));
    sum.bytes += std::uint64_t{box.extent[0]} * box.extent[1] * box.extent[2];
  }
  return sum;
}

Copy copy_of(const CUstreamBatchMemOpParams* operations, unsigned count) noexcept {
  Copy all{.kind = CopyKind::kWriteValue, .bytes = 0};
  for (unsigned i = 0; operations != nullptr && i < count; ++i) {
    switch (operations[i].operation) {
      case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        all.kind = CopyKind::kWaitValue;
        all.bytes += sizeof(std::uint32_t);
        break;
      case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        all.kind = CopyKind::kWaitValue;
        all.bytes += sizeof(std::uint64_t);
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        all.bytes += sizeof(std::uint32_t);
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        all.bytes += sizeof(std::uint64_t);
        break;
      default:  // barriers
        break;
    }
  }
  return all;
}

}  // namespace inline_prof::launch
