// Copies and fills.
#include "driver/call.hpp"
#include "driver/transfers.hpp"

using namespace simgpu;

namespace {

bool is_pageable(Simulator& s, const void* address) {
  return s.memory.find(reinterpret_cast<std::uintptr_t>(address)) == nullptr;
}

enum class Wait { kNo, kYes };

// CUDA Driver API 13.0, "API synchronization behavior": synchronous copies return when the copy is
// done, except from device to device, where "no host-side synchronization is performed"; an
// asynchronous copy to pageable memory "will return only once the copy has completed".
void copy(Simulator& s, Stream& stream, const CopyWork& work, Wait wait) {
  if (work.bytes() == 0) return;
  require_inside(s, work);
  if (wait == Wait::kYes) s.refuse_if_unsafe();
  s.copy(stream, work);
  const bool between_devices =
      s.memory.is_device(work.destination) && s.memory.is_device(work.source);
  const bool must_wait = wait == Wait::kYes ? !between_devices : is_pageable(s, work.destination);
  if (must_wait && !stream.capture) s.synchronize(stream);
}

CopyWork flat(void* destination, const void* source, size_t bytes) {
  return {.destination = destination,
          .source = source,
          .destination_pitch = bytes,
          .source_pitch = bytes,
          .width = bytes,
          .rows = 1};
}

CopyWork copy_of(const CUDA_MEMCPY2D& p) {
  CUDA_MEMCPY3D box{};
  box.srcXInBytes = p.srcXInBytes;
  box.srcY = p.srcY;
  box.srcMemoryType = p.srcMemoryType;
  box.srcHost = p.srcHost;
  box.srcDevice = p.srcDevice;
  box.srcPitch = p.srcPitch;
  box.dstXInBytes = p.dstXInBytes;
  box.dstY = p.dstY;
  box.dstMemoryType = p.dstMemoryType;
  box.dstHost = p.dstHost;
  box.dstDevice = p.dstDevice;
  box.dstPitch = p.dstPitch;
  box.WidthInBytes = p.WidthInBytes;
  box.Height = p.Height;
  box.Depth = 1;
  return simgpu::copy_of(box);
}

template <typename Value>
FillWork rows_of(CUdeviceptr address, size_t pitch, Value value, size_t width, size_t rows) {
  return {.destination = pointer(address),
          .pitch = pitch,
          .value = value,
          .element_bytes = sizeof value,
          .width = width,
          .rows = rows};
}

template <typename Value>
FillWork row_of(CUdeviceptr address, Value value, size_t count) {
  return rows_of(address, count * sizeof value, value, count, 1);
}

void fill(Simulator& s, Stream& stream, const FillWork& work) {
  if (work.width == 0 || work.rows == 0) return;
  require_inside(s, work);
  s.fill(stream, work);
}

}  // namespace

SIMGPU_DEFAULT_STREAM_CALL(cuMemcpy, cuMemcpy_v4000, kCopy, destination, source, bytes) {
  copy(s, s.stream(nullptr, which), flat(pointer(destination), pointer(source), bytes), Wait::kYes);
}

// One address space: the contexts tell nothing that the addresses do not.
SIMGPU_DEFAULT_STREAM_CALL(cuMemcpyPeer, cuMemcpyPeer_v4000, kCopy, destination, to, source, from,
                           bytes) {
  static_cast<void>(s.live(to));
  static_cast<void>(s.live(from));
  copy(s, s.stream(nullptr, which), flat(pointer(destination), pointer(source), bytes), Wait::kYes);
}

SIMGPU_STREAM_CALL(cuMemcpyPeerAsync, cuMemcpyPeerAsync_v4000, kCopy, destination, to, source, from,
                   bytes, stream) {
  static_cast<void>(s.live(to));
  static_cast<void>(s.live(from));
  copy(s, s.stream(stream, which), flat(pointer(destination), pointer(source), bytes), Wait::kNo);
}

SIMGPU_DEFAULT_STREAM_CALL(cuMemcpyHtoD_v2, cuMemcpyHtoD_v3020, kCopy, destination, source, bytes) {
  copy(s, s.stream(nullptr, which), flat(pointer(destination), source, bytes), Wait::kYes);
}

SIMGPU_DEFAULT_STREAM_CALL(cuMemcpyDtoH_v2, cuMemcpyDtoH_v3020, kCopy, destination, source, bytes) {
  copy(s, s.stream(nullptr, which), flat(destination, pointer(source), bytes), Wait::kYes);
}

SIMGPU_DEFAULT_STREAM_CALL(cuMemcpyDtoD_v2, cuMemcpyDtoD_v3020, kCopy, destination, source, bytes) {
  copy(s, s.stream(nullptr, which), flat(pointer(destination), pointer(source), bytes), Wait::kYes);
}

SIMGPU_DEFAULT_STREAM_CALL(cuMemcpy2D_v2, cuMemcpy2D_v3020, kCopy, parameters) {
  require(parameters);
  copy(s, s.stream(nullptr, which), copy_of(*parameters), Wait::kYes);
}

SIMGPU_DEFAULT_STREAM_CALL(cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned_v3020, kCopy, parameters) {
  require(parameters);
  copy(s, s.stream(nullptr, which), copy_of(*parameters), Wait::kYes);
}

SIMGPU_STREAM_CALL(cuMemcpyAsync, cuMemcpyAsync_v4000, kCopy, destination, source, bytes, stream) {
  copy(s, s.stream(stream, which), flat(pointer(destination), pointer(source), bytes), Wait::kNo);
}

SIMGPU_STREAM_CALL(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync_v3020, kCopy, destination, source, bytes,
                   stream) {
  copy(s, s.stream(stream, which), flat(pointer(destination), source, bytes), Wait::kNo);
}

SIMGPU_STREAM_CALL(cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync_v3020, kCopy, destination, source, bytes,
                   stream) {
  copy(s, s.stream(stream, which), flat(destination, pointer(source), bytes), Wait::kNo);
}

SIMGPU_STREAM_CALL(cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync_v3020, kCopy, destination, source, bytes,
                   stream) {
  copy(s, s.stream(stream, which), flat(pointer(destination), pointer(source), bytes), Wait::kNo);
}

SIMGPU_STREAM_CALL(cuMemcpy2DAsync_v2, cuMemcpy2DAsync_v3020, kCopy, parameters, stream) {
  require(parameters);
  copy(s, s.stream(stream, which), copy_of(*parameters), Wait::kNo);
}

SIMGPU_DEFAULT_STREAM_CALL(cuMemcpy3D_v2, cuMemcpy3D_v3020, kCopy, parameters) {
  require(parameters);
  copy(s, s.stream(nullptr, which), copy_of(*parameters), Wait::kYes);
}

SIMGPU_STREAM_CALL(cuMemcpy3DAsync_v2, cuMemcpy3DAsync_v3020, kCopy, parameters, stream) {
  require(parameters);
  copy(s, s.stream(stream, which), copy_of(*parameters), Wait::kNo);
}

SIMGPU_STREAM_CALL(cuMemcpy3DPeerAsync, cuMemcpy3DPeerAsync_v4000, kCopy, parameters, stream) {
  require(parameters);
  copy(s, s.stream(stream, which), copy_of(*parameters), Wait::kNo);
}

// The form of CUDA 13.0; attributes say where memory may lie, and nothing here depends on it.
SIMGPU_STREAM_CALL(cuMemcpyBatchAsync_v2, cuMemcpyBatchAsync_v13000, kCopy, destinations, sources,
                   bytes, count, attributes, places, attribute_count, stream) {
  require(destinations);
  require(sources);
  require(bytes);
  require(attributes);
  require(places);
  // cuda.h: the legacy default stream is refused.
  require_value(count > 0 && attribute_count > 0 && attribute_count <= count && stream != nullptr);
  for (size_t i = 0; i < count; ++i) {
    copy(s, s.stream(stream, which), flat(pointer(destinations[i]), pointer(sources[i]), bytes[i]),
         Wait::kNo);
  }
}

// There are no arrays here: extents are bytes, and rows lie behind each other where no length is
// given.
SIMGPU_STREAM_CALL(cuMemcpy3DBatchAsync_v2, cuMemcpy3DBatchAsync_v13000, kCopy, count, boxes, flags,
                   stream) {
  require(boxes);
  require_value(count > 0 && flags == 0 && stream != nullptr);
  for (size_t i = 0; i < count; ++i) {
    const CUDA_MEMCPY3D_BATCH_OP& each = boxes[i];
    const auto& [from, to] = std::pair(each.src, each.dst);
    require_value(from.type == CU_MEMCPY_OPERAND_TYPE_POINTER &&
                  to.type == CU_MEMCPY_OPERAND_TYPE_POINTER);
    const auto pitch = [&](const CUmemcpy3DOperand& place) {
      return place.op.ptr.rowLength != 0 ? place.op.ptr.rowLength : each.extent.width;
    };
    const auto height = [&](const CUmemcpy3DOperand& place) {
      return place.op.ptr.layerHeight != 0 ? place.op.ptr.layerHeight : each.extent.height;
    };
    CUDA_MEMCPY3D one{};
    one.srcMemoryType = one.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    one.srcDevice = from.op.ptr.ptr;
    one.srcPitch = pitch(from);
    one.srcHeight = height(from);
    one.dstDevice = to.op.ptr.ptr;
    one.dstPitch = pitch(to);
    one.dstHeight = height(to);
    one.WidthInBytes = each.extent.width;
    one.Height = each.extent.height;
    one.Depth = each.extent.depth;
    copy(s, s.stream(stream, which), copy_of(one), Wait::kNo);
  }
}

// By elements of 8, 16 and 32 bits.
#define SIMGPU_MEMSETS(bits)                                                                       \
  SIMGPU_DEFAULT_STREAM_CALL(cuMemsetD##bits##_v2, cuMemsetD##bits##_v3020, kCopy, address, value, \
                             count) {                                                              \
    fill(s, s.stream(nullptr, which), row_of(address, value, count));                              \
  }                                                                                                \
  SIMGPU_STREAM_CALL(cuMemsetD##bits##Async, cuMemsetD##bits##Async_v3020, kCopy, address, value,  \
                     count, stream) {                                                              \
    fill(s, s.stream(stream, which), row_of(address, value, count));                               \
  }                                                                                                \
  SIMGPU_DEFAULT_STREAM_CALL(cuMemsetD2D##bits##_v2, cuMemsetD2D##bits##_v3020, kCopy, address,    \
                             pitch, value, width, height) {                                        \
    fill(s, s.stream(nullptr, which), rows_of(address, pitch, value, width, height));              \
  }                                                                                                \
  SIMGPU_STREAM_CALL(cuMemsetD2D##bits##Async, cuMemsetD2D##bits##Async_v3020, kCopy, address,     \
                     pitch, value, width, height, stream) {                                        \
    fill(s, s.stream(stream, which), rows_of(address, pitch, value, width, height));               \
  }
SIMGPU_MEMSETS(8)
SIMGPU_MEMSETS(16)
SIMGPU_MEMSETS(32)
