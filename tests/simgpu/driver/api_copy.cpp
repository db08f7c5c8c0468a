// Copies and fills.
#include "driver/call.hpp"

using namespace inline_prof::simgpu;

namespace {

// A copy or fill that stays inside one allocation, or touches none of ours.
void require_inside(Simulator& s, const void* begin, size_t bytes) {
  require(begin);
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const Allocation* at = s.memory.find(address);
  require_value(at == nullptr || bytes <= at->base + at->bytes - address);
}

bool is_pageable(Simulator& s, const void* address) {
  return s.memory.find(reinterpret_cast<std::uintptr_t>(address)) == nullptr;
}

enum class Wait { kNo, kYes };

// CUDA Driver API 13.0, "API synchronization behavior": synchronous copies return when the copy is
// done, except from device to device, where "no host-side synchronization is performed"; an
// asynchronous copy to pageable memory "will return only once the copy has completed".
void copy(Simulator& s, Stream& stream, const CopyWork& work, Wait wait) {
  if (work.width == 0 || work.rows == 0) return;
  require_inside(s, work.destination, work.destination_pitch * (work.rows - 1) + work.width);
  require_inside(s, work.source, work.source_pitch * (work.rows - 1) + work.width);
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

CopyWork plane(const CUDA_MEMCPY2D& p) {
  const auto side = [](CUmemorytype type, const void* host, CUdeviceptr device) -> const void* {
    switch (type) {
      case CU_MEMORYTYPE_HOST:
        return host;
      case CU_MEMORYTYPE_DEVICE:
      case CU_MEMORYTYPE_UNIFIED:
        return pointer(device);
      default:
        throw Failure{CUDA_ERROR_NOT_SUPPORTED};  // arrays
    }
  };
  const auto* source = static_cast<const char*>(side(p.srcMemoryType, p.srcHost, p.srcDevice));
  const auto* destination = static_cast<const char*>(side(p.dstMemoryType, p.dstHost, p.dstDevice));
  require(source);
  require(destination);
  // cuda.h: a pitch of 0 is only for copies of one row.
  require_value(p.Height <= 1 || (p.srcPitch >= p.WidthInBytes && p.dstPitch >= p.WidthInBytes));
  return {.destination = const_cast<char*>(destination) + p.dstY * p.dstPitch + p.dstXInBytes,
          .source = source + p.srcY * p.srcPitch + p.srcXInBytes,
          .destination_pitch = p.dstPitch,
          .source_pitch = p.srcPitch,
          .width = p.WidthInBytes,
          .rows = p.Height};
}

void fill(Simulator& s, Stream& stream, const FillWork& work) {
  if (work.width == 0 || work.rows == 0) return;
  require_value(reinterpret_cast<std::uintptr_t>(work.destination) % work.element_bytes == 0);
  require_inside(s, work.destination,
                 work.pitch * (work.rows - 1) + work.width * work.element_bytes);
  s.fill(stream, work);
}

}  // namespace

CUresult cuMemcpy(CUdeviceptr destination, CUdeviceptr source, size_t bytes) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    copy(s, s.stream(nullptr, kLegacy), flat(pointer(destination), pointer(source), bytes),
         Wait::kYes);
  });
}

CUresult cuMemcpy_ptds(CUdeviceptr destination, CUdeviceptr source, size_t bytes) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    copy(s, s.stream(nullptr, kPerThread), flat(pointer(destination), pointer(source), bytes),
         Wait::kYes);
  });
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr destination, const void* source, size_t bytes) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    copy(s, s.stream(nullptr, kLegacy), flat(pointer(destination), source, bytes), Wait::kYes);
  });
}

CUresult cuMemcpyHtoD_v2_ptds(CUdeviceptr destination, const void* source, size_t bytes) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    copy(s, s.stream(nullptr, kPerThread), flat(pointer(destination), source, bytes), Wait::kYes);
  });
}

CUresult cuMemcpyDtoH_v2(void* destination, CUdeviceptr source, size_t bytes) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    copy(s, s.stream(nullptr, kLegacy), flat(destination, pointer(source), bytes), Wait::kYes);
  });
}

CUresult cuMemcpyDtoH_v2_ptds(void* destination, CUdeviceptr source, size_t bytes) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    copy(s, s.stream(nullptr, kPerThread), flat(destination, pointer(source), bytes), Wait::kYes);
  });
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr destination, CUdeviceptr source, size_t bytes) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    copy(s, s.stream(nullptr, kLegacy), flat(pointer(destination), pointer(source), bytes),
         Wait::kYes);
  });
}

CUresult cuMemcpyDtoD_v2_ptds(CUdeviceptr destination, CUdeviceptr source, size_t bytes) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    copy(s, s.stream(nullptr, kPerThread), flat(pointer(destination), pointer(source), bytes),
         Wait::kYes);
  });
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* parameters) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    require(parameters);
    copy(s, s.stream(nullptr, kLegacy), plane(*parameters), Wait::kYes);
  });
}

CUresult cuMemcpy2D_v2_ptds(const CUDA_MEMCPY2D* parameters) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    require(parameters);
    copy(s, s.stream(nullptr, kPerThread), plane(*parameters), Wait::kYes);
  });
}

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* parameters) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    require(parameters);
    copy(s, s.stream(nullptr, kLegacy), plane(*parameters), Wait::kYes);
  });
}

CUresult cuMemcpy2DUnaligned_v2_ptds(const CUDA_MEMCPY2D* parameters) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    require(parameters);
    copy(s, s.stream(nullptr, kPerThread), plane(*parameters), Wait::kYes);
  });
}

CUresult cuMemcpyAsync(CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream stream) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    copy(s, s.stream(stream, kLegacy), flat(pointer(destination), pointer(source), bytes),
         Wait::kNo);
  });
}

CUresult cuMemcpyAsync_ptsz(CUdeviceptr destination, CUdeviceptr source, size_t bytes,
                            CUstream stream) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    copy(s, s.stream(stream, kPerThread), flat(pointer(destination), pointer(source), bytes),
         Wait::kNo);
  });
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr destination, const void* source, size_t bytes,
                              CUstream stream) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    copy(s, s.stream(stream, kLegacy), flat(pointer(destination), source, bytes), Wait::kNo);
  });
}

CUresult cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr destination, const void* source, size_t bytes,
                                   CUstream stream) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    copy(s, s.stream(stream, kPerThread), flat(pointer(destination), source, bytes), Wait::kNo);
  });
}

CUresult cuMemcpyDtoHAsync_v2(void* destination, CUdeviceptr source, size_t bytes,
                              CUstream stream) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    copy(s, s.stream(stream, kLegacy), flat(destination, pointer(source), bytes), Wait::kNo);
  });
}

CUresult cuMemcpyDtoHAsync_v2_ptsz(void* destination, CUdeviceptr source, size_t bytes,
                                   CUstream stream) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    copy(s, s.stream(stream, kPerThread), flat(destination, pointer(source), bytes), Wait::kNo);
  });
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr destination, CUdeviceptr source, size_t bytes,
                              CUstream stream) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    copy(s, s.stream(stream, kLegacy), flat(pointer(destination), pointer(source), bytes),
         Wait::kNo);
  });
}

CUresult cuMemcpyDtoDAsync_v2_ptsz(CUdeviceptr destination, CUdeviceptr source, size_t bytes,
                                   CUstream stream) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    copy(s, s.stream(stream, kPerThread), flat(pointer(destination), pointer(source), bytes),
         Wait::kNo);
  });
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* parameters, CUstream stream) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    require(parameters);
    copy(s, s.stream(stream, kLegacy), plane(*parameters), Wait::kNo);
  });
}

CUresult cuMemcpy2DAsync_v2_ptsz(const CUDA_MEMCPY2D* parameters, CUstream stream) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    require(parameters);
    copy(s, s.stream(stream, kPerThread), plane(*parameters), Wait::kNo);
  });
}

CUresult cuMemsetD8_v2(CUdeviceptr address, unsigned char value, size_t count) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    fill(s, s.stream(nullptr, kLegacy),
         {.destination = pointer(address),
          .pitch = count * 1,
          .value = value,
          .element_bytes = 1,
          .width = count,
          .rows = 1});
  });
}

CUresult cuMemsetD8_v2_ptds(CUdeviceptr address, unsigned char value, size_t count) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    fill(s, s.stream(nullptr, kPerThread),
         {.destination = pointer(address),
          .pitch = count * 1,
          .value = value,
          .element_bytes = 1,
          .width = count,
          .rows = 1});
  });
}

CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t count, CUstream stream) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    fill(s, s.stream(stream, kLegacy),
         {.destination = pointer(address),
          .pitch = count * 1,
          .value = value,
          .element_bytes = 1,
          .width = count,
          .rows = 1});
  });
}

CUresult cuMemsetD8Async_ptsz(CUdeviceptr address, unsigned char value, size_t count,
                              CUstream stream) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    fill(s, s.stream(stream, kPerThread),
         {.destination = pointer(address),
          .pitch = count * 1,
          .value = value,
          .element_bytes = 1,
          .width = count,
          .rows = 1});
  });
}

CUresult cuMemsetD2D8_v2(CUdeviceptr address, size_t pitch, unsigned char value, size_t width,
                         size_t height) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    fill(s, s.stream(nullptr, kLegacy),
         {.destination = pointer(address),
          .pitch = pitch,
          .value = value,
          .element_bytes = 1,
          .width = width,
          .rows = height});
  });
}

CUresult cuMemsetD2D8_v2_ptds(CUdeviceptr address, size_t pitch, unsigned char value, size_t width,
                              size_t height) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    fill(s, s.stream(nullptr, kPerThread),
         {.destination = pointer(address),
          .pitch = pitch,
          .value = value,
          .element_bytes = 1,
          .width = width,
          .rows = height});
  });
}

CUresult cuMemsetD2D8Async(CUdeviceptr address, size_t pitch, unsigned char value, size_t width,
                           size_t height, CUstream stream) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    fill(s, s.stream(stream, kLegacy),
         {.destination = pointer(address),
          .pitch = pitch,
          .value = value,
          .element_bytes = 1,
          .width = width,
          .rows = height});
  });
}

CUresult cuMemsetD2D8Async_ptsz(CUdeviceptr address, size_t pitch, unsigned char value,
                                size_t width, size_t height, CUstream stream) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    fill(s, s.stream(stream, kPerThread),
         {.destination = pointer(address),
          .pitch = pitch,
          .value = value,
          .element_bytes = 1,
          .width = width,
          .rows = height});
  });
}

CUresult cuMemsetD16_v2(CUdeviceptr address, unsigned short value, size_t count) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    fill(s, s.stream(nullptr, kLegacy),
         {.destination = pointer(address),
          .pitch = count * 2,
          .value = value,
          .element_bytes = 2,
          .width = count,
          .rows = 1});
  });
}

CUresult cuMemsetD16_v2_ptds(CUdeviceptr address, unsigned short value, size_t count) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    fill(s, s.stream(nullptr, kPerThread),
         {.destination = pointer(address),
          .pitch = count * 2,
          .value = value,
          .element_bytes = 2,
          .width = count,
          .rows = 1});
  });
}

CUresult cuMemsetD16Async(CUdeviceptr address, unsigned short value, size_t count,
                          CUstream stream) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    fill(s, s.stream(stream, kLegacy),
         {.destination = pointer(address),
          .pitch = count * 2,
          .value = value,
          .element_bytes = 2,
          .width = count,
          .rows = 1});
  });
}

CUresult cuMemsetD16Async_ptsz(CUdeviceptr address, unsigned short value, size_t count,
                               CUstream stream) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    fill(s, s.stream(stream, kPerThread),
         {.destination = pointer(address),
          .pitch = count * 2,
          .value = value,
          .element_bytes = 2,
          .width = count,
          .rows = 1});
  });
}

CUresult cuMemsetD2D16_v2(CUdeviceptr address, size_t pitch, unsigned short value, size_t width,
                          size_t height) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    fill(s, s.stream(nullptr, kLegacy),
         {.destination = pointer(address),
          .pitch = pitch,
          .value = value,
          .element_bytes = 2,
          .width = width,
          .rows = height});
  });
}

CUresult cuMemsetD2D16_v2_ptds(CUdeviceptr address, size_t pitch, unsigned short value,
                               size_t width, size_t height) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    fill(s, s.stream(nullptr, kPerThread),
         {.destination = pointer(address),
          .pitch = pitch,
          .value = value,
          .element_bytes = 2,
          .width = width,
          .rows = height});
  });
}

CUresult cuMemsetD2D16Async(CUdeviceptr address, size_t pitch, unsigned short value, size_t width,
                            size_t height, CUstream stream) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    fill(s, s.stream(stream, kLegacy),
         {.destination = pointer(address),
          .pitch = pitch,
          .value = value,
          .element_bytes = 2,
          .width = width,
          .rows = height});
  });
}

CUresult cuMemsetD2D16Async_ptsz(CUdeviceptr address, size_t pitch, unsigned short value,
                                 size_t width, size_t height, CUstream stream) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    fill(s, s.stream(stream, kPerThread),
         {.destination = pointer(address),
          .pitch = pitch,
          .value = value,
          .element_bytes = 2,
          .width = width,
          .rows = height});
  });
}

CUresult cuMemsetD32_v2(CUdeviceptr address, unsigned int value, size_t count) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    fill(s, s.stream(nullptr, kLegacy),
         {.destination = pointer(address),
          .pitch = count * 4,
          .value = value,
          .element_bytes = 4,
          .width = count,
          .rows = 1});
  });
}

CUresult cuMemsetD32_v2_ptds(CUdeviceptr address, unsigned int value, size_t count) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    fill(s, s.stream(nullptr, kPerThread),
         {.destination = pointer(address),
          .pitch = count * 4,
          .value = value,
          .element_bytes = 4,
          .width = count,
          .rows = 1});
  });
}

CUresult cuMemsetD32Async(CUdeviceptr address, unsigned int value, size_t count, CUstream stream) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    fill(s, s.stream(stream, kLegacy),
         {.destination = pointer(address),
          .pitch = count * 4,
          .value = value,
          .element_bytes = 4,
          .width = count,
          .rows = 1});
  });
}

CUresult cuMemsetD32Async_ptsz(CUdeviceptr address, unsigned int value, size_t count,
                               CUstream stream) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    fill(s, s.stream(stream, kPerThread),
         {.destination = pointer(address),
          .pitch = count * 4,
          .value = value,
          .element_bytes = 4,
          .width = count,
          .rows = 1});
  });
}

CUresult cuMemsetD2D32_v2(CUdeviceptr address, size_t pitch, unsigned int value, size_t width,
                          size_t height) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    fill(s, s.stream(nullptr, kLegacy),
         {.destination = pointer(address),
          .pitch = pitch,
          .value = value,
          .element_bytes = 4,
          .width = width,
          .rows = height});
  });
}

CUresult cuMemsetD2D32_v2_ptds(CUdeviceptr address, size_t pitch, unsigned int value, size_t width,
                               size_t height) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    fill(s, s.stream(nullptr, kPerThread),
         {.destination = pointer(address),
          .pitch = pitch,
          .value = value,
          .element_bytes = 4,
          .width = width,
          .rows = height});
  });
}

CUresult cuMemsetD2D32Async(CUdeviceptr address, size_t pitch, unsigned int value, size_t width,
                            size_t height, CUstream stream) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    fill(s, s.stream(stream, kLegacy),
         {.destination = pointer(address),
          .pitch = pitch,
          .value = value,
          .element_bytes = 4,
          .width = width,
          .rows = height});
  });
}

CUresult cuMemsetD2D32Async_ptsz(CUdeviceptr address, size_t pitch, unsigned int value,
                                 size_t width, size_t height, CUstream stream) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kCopy, [&](Simulator& s) {
    fill(s, s.stream(stream, kPerThread),
         {.destination = pointer(address),
          .pitch = pitch,
          .value = value,
          .element_bytes = 4,
          .width = width,
          .rows = height});
  });
}
