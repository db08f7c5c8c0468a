// Memory: allocation, copies, fills.
#include "driver/call.hpp"

#include <cstring>

using namespace inline_prof::simgpu;

namespace {

constexpr auto kLegacy = DefaultStream::kLegacy;
constexpr auto kPerThread = DefaultStream::kPerThread;

void* pointer(CUdeviceptr address) {
  return reinterpret_cast<void*>(address);
}

Allocation& allocate(Simulator& s, Context& context, size_t bytes, MemoryKind kind,
                     unsigned flags = 0) {
  require_value(bytes > 0);
  const bool on_device = kind == MemoryKind::kDevice || kind == MemoryKind::kManaged;
  if (on_device && bytes > s.model.device.memory_bytes - context.device->memory_used) {
    throw Failure{CUDA_ERROR_OUT_OF_MEMORY};
  }
  Allocation* made = s.memory.allocate(context, bytes, kind, flags);
  if (made == nullptr) throw Failure{CUDA_ERROR_OUT_OF_MEMORY};
  return *made;
}

// The allocation that starts at `address`.
Allocation& exactly(Simulator& s, std::uintptr_t address) {
  Allocation* found = s.memory.find(address);
  require_value(found != nullptr && found->base == address);
  return *found;
}

// cuda.h, cuMemFree: "waits for all active work in the context to complete" is how the vendor's
// runtime documents it (cudaFree is synchronising); the simulator does the same.
void free_device(Simulator& s, CUdeviceptr address) {
  if (address == 0) return;
  s.refuse_if_unsafe();
  Allocation& doomed = exactly(s, static_cast<std::uintptr_t>(address));
  require_value(doomed.kind == MemoryKind::kDevice || doomed.kind == MemoryKind::kManaged);
  s.synchronize(*doomed.context);
  s.memory.release(doomed);
}

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

void allocate_async(Simulator& s, CUdeviceptr* address, size_t bytes, Stream& stream) {
  require(address);
  if (s.capturing(stream)) throw Failure{CUDA_ERROR_NOT_SUPPORTED};  // would be an alloc node
  *address = allocate(s, *stream.context, bytes, MemoryKind::kDevice).base;
}

// The memory goes when the stream comes to it; touching it later is the host's error, as on a GPU.
void free_async(Simulator& s, CUdeviceptr address, Stream& stream) {
  Allocation& doomed = exactly(s, static_cast<std::uintptr_t>(address));
  require_value(doomed.kind == MemoryKind::kDevice);
  if (s.capturing(stream)) throw Failure{CUDA_ERROR_NOT_SUPPORTED};
  s.engine.submit(stream, {.run = [&s, base = doomed.base](Nanoseconds start) {
                    if (Allocation* at = s.memory.find(base); at != nullptr) s.memory.release(*at);
                    return start;
                  }});
}

}  // namespace

CUresult cuMemGetInfo_v2(size_t* free_bytes, size_t* total) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kOther, [&](Simulator& s) {
    const Context& context = s.current();
    if (total != nullptr) *total = s.model.device.memory_bytes;
    if (free_bytes != nullptr) {
      *free_bytes = s.model.device.memory_bytes - context.device->memory_used;
    }
  });
}

CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kAllocate, [&](Simulator& s) {
    require(address);
    s.refuse_if_unsafe();
    *address = allocate(s, s.current(), bytes, MemoryKind::kDevice).base;
  });
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* address, size_t* pitch, size_t width, size_t height,
                            unsigned int element_bytes) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kAllocate, [&](Simulator& s) {
    require(address);
    require(pitch);
    require_value(element_bytes == 4 || element_bytes == 8 || element_bytes == 16);
    s.refuse_if_unsafe();
    *pitch = (width + 511) / 512 * 512;
    *address = allocate(s, s.current(), *pitch * height, MemoryKind::kDevice).base;
  });
}

CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned int flags) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kAllocate, [&](Simulator& s) {
    require(address);
    require_value(flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST);
    s.refuse_if_unsafe();
    *address = allocate(s, s.current(), bytes, MemoryKind::kManaged, flags).base;
  });
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kAllocate, [&](Simulator& s) { free_device(s, address); });
}

CUresult cuMemAllocHost_v2(void** host, size_t bytes) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kAllocate, [&](Simulator& s) {
    require(host);
    s.refuse_if_unsafe();
    *host = pointer(allocate(s, s.current(), bytes, MemoryKind::kHost).base);
  });
}

CUresult cuMemHostAlloc(void** host, size_t bytes, unsigned int flags) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kAllocate, [&](Simulator& s) {
    require(host);
    constexpr unsigned kKnown =
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    require_value((flags & ~kKnown) == 0);
    s.refuse_if_unsafe();
    *host = pointer(allocate(s, s.current(), bytes, MemoryKind::kHost, flags).base);
  });
}

CUresult cuMemFreeHost(void* host) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kAllocate, [&](Simulator& s) {
    s.refuse_if_unsafe();
    Allocation& doomed = exactly(s, reinterpret_cast<std::uintptr_t>(host));
    require_value(doomed.kind == MemoryKind::kHost);
    s.synchronize(*doomed.context);
    s.memory.release(doomed);
  });
}

CUresult cuMemHostRegister_v2(void* host, size_t bytes, unsigned int flags) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kAllocate, [&](Simulator& s) {
    require(host);
    require_value(bytes > 0);
    s.refuse_if_unsafe();
    if (s.memory.find(reinterpret_cast<std::uintptr_t>(host)) != nullptr) {
      throw Failure{CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED};
    }
    s.memory.adopt(s.current(), host, bytes, flags);
  });
}

CUresult cuMemHostUnregister(void* host) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kAllocate, [&](Simulator& s) {
    s.refuse_if_unsafe();
    Allocation* at = s.memory.find(reinterpret_cast<std::uintptr_t>(host));
    if (at == nullptr || at->kind != MemoryKind::kRegistered) {
      throw Failure{CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED};
    }
    s.memory.release(*at);
  });
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* address, void* host, unsigned int flags) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kOther, [&](Simulator& s) {
    require(address);
    require_value(flags == 0);  // cuda.h: "for now, it must be set to 0"
    const auto at = reinterpret_cast<std::uintptr_t>(host);
    const Allocation* owner = s.memory.find(at);
    require_value(owner != nullptr &&
                  (owner->kind == MemoryKind::kHost || owner->kind == MemoryKind::kRegistered));
    *address = at;  // one address space
  });
}

CUresult cuMemHostGetFlags(unsigned int* flags, void* host) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kOther, [&](Simulator& s) {
    require(flags);
    const Allocation* owner = s.memory.find(reinterpret_cast<std::uintptr_t>(host));
    require_value(owner != nullptr && owner->kind == MemoryKind::kHost);
    *flags = owner->flags;
  });
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kOther, [&](Simulator& s) {
    const Allocation* at = s.memory.find(static_cast<std::uintptr_t>(address));
    if (at == nullptr) throw Failure{CUDA_ERROR_NOT_FOUND};
    if (base != nullptr) *base = at->base;
    if (bytes != nullptr) *bytes = at->bytes;
  });
}

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kOther, [&](Simulator& s) {
    require(data);
    const Allocation* at = s.memory.find(static_cast<std::uintptr_t>(address));
    require_value(at != nullptr);
    const bool on_host = at->kind == MemoryKind::kHost || at->kind == MemoryKind::kRegistered;
    const auto put = [&](const auto& value) { std::memcpy(data, &value, sizeof value); };
    switch (attribute) {
      case CU_POINTER_ATTRIBUTE_CONTEXT:
        put(reinterpret_cast<CUcontext>(at->context));
        break;
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        put(on_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
        break;
      case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        put(address);
        break;
      case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        require_value(on_host || at->kind == MemoryKind::kManaged);
        put(address);
        break;
      case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        put(static_cast<unsigned char>(at->kind == MemoryKind::kManaged ? 1 : 0));
        break;
      case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        put(at->context->device->index);
        break;
      case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        put(static_cast<CUdeviceptr>(at->base));
        break;
      case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        put(at->bytes);
        break;
      default:
        throw Failure{CUDA_ERROR_NOT_SUPPORTED};
    }
  });
}

CUresult cuMemcpy(CUdeviceptr destination, CUdeviceptr source, size_t bytes) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
    copy(s, s.stream(nullptr, kLegacy), flat(pointer(destination), pointer(source), bytes),
         Wait::kYes);
  });
}

CUresult cuMemcpy_ptds(CUdeviceptr destination, CUdeviceptr source, size_t bytes) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
    copy(s, s.stream(nullptr, kPerThread), flat(pointer(destination), pointer(source), bytes),
         Wait::kYes);
  });
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr destination, const void* source, size_t bytes) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
    copy(s, s.stream(nullptr, kLegacy), flat(pointer(destination), source, bytes), Wait::kYes);
  });
}

CUresult cuMemcpyHtoD_v2_ptds(CUdeviceptr destination, const void* source, size_t bytes) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
    copy(s, s.stream(nullptr, kPerThread), flat(pointer(destination), source, bytes), Wait::kYes);
  });
}

CUresult cuMemcpyDtoH_v2(void* destination, CUdeviceptr source, size_t bytes) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
    copy(s, s.stream(nullptr, kLegacy), flat(destination, pointer(source), bytes), Wait::kYes);
  });
}

CUresult cuMemcpyDtoH_v2_ptds(void* destination, CUdeviceptr source, size_t bytes) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
    copy(s, s.stream(nullptr, kPerThread), flat(destination, pointer(source), bytes), Wait::kYes);
  });
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr destination, CUdeviceptr source, size_t bytes) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
    copy(s, s.stream(nullptr, kLegacy), flat(pointer(destination), pointer(source), bytes),
         Wait::kYes);
  });
}

CUresult cuMemcpyDtoD_v2_ptds(CUdeviceptr destination, CUdeviceptr source, size_t bytes) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
    copy(s, s.stream(nullptr, kPerThread), flat(pointer(destination), pointer(source), bytes),
         Wait::kYes);
  });
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* parameters) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
    require(parameters);
    copy(s, s.stream(nullptr, kLegacy), plane(*parameters), Wait::kYes);
  });
}

CUresult cuMemcpy2D_v2_ptds(const CUDA_MEMCPY2D* parameters) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
    require(parameters);
    copy(s, s.stream(nullptr, kPerThread), plane(*parameters), Wait::kYes);
  });
}

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* parameters) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
    require(parameters);
    copy(s, s.stream(nullptr, kLegacy), plane(*parameters), Wait::kYes);
  });
}

CUresult cuMemcpy2DUnaligned_v2_ptds(const CUDA_MEMCPY2D* parameters) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
    require(parameters);
    copy(s, s.stream(nullptr, kPerThread), plane(*parameters), Wait::kYes);
  });
}

CUresult cuMemcpyAsync(CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream stream) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
    copy(s, s.stream(stream, kLegacy), flat(pointer(destination), pointer(source), bytes),
         Wait::kNo);
  });
}

CUresult cuMemcpyAsync_ptsz(CUdeviceptr destination, CUdeviceptr source, size_t bytes,
                            CUstream stream) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
    copy(s, s.stream(stream, kPerThread), flat(pointer(destination), pointer(source), bytes),
         Wait::kNo);
  });
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr destination, const void* source, size_t bytes,
                              CUstream stream) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
    copy(s, s.stream(stream, kLegacy), flat(pointer(destination), source, bytes), Wait::kNo);
  });
}

CUresult cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr destination, const void* source, size_t bytes,
                                   CUstream stream) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
    copy(s, s.stream(stream, kPerThread), flat(pointer(destination), source, bytes), Wait::kNo);
  });
}

CUresult cuMemcpyDtoHAsync_v2(void* destination, CUdeviceptr source, size_t bytes,
                              CUstream stream) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
    copy(s, s.stream(stream, kLegacy), flat(destination, pointer(source), bytes), Wait::kNo);
  });
}

CUresult cuMemcpyDtoHAsync_v2_ptsz(void* destination, CUdeviceptr source, size_t bytes,
                                   CUstream stream) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
    copy(s, s.stream(stream, kPerThread), flat(destination, pointer(source), bytes), Wait::kNo);
  });
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr destination, CUdeviceptr source, size_t bytes,
                              CUstream stream) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
    copy(s, s.stream(stream, kLegacy), flat(pointer(destination), pointer(source), bytes),
         Wait::kNo);
  });
}

CUresult cuMemcpyDtoDAsync_v2_ptsz(CUdeviceptr destination, CUdeviceptr source, size_t bytes,
                                   CUstream stream) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
    copy(s, s.stream(stream, kPerThread), flat(pointer(destination), pointer(source), bytes),
         Wait::kNo);
  });
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* parameters, CUstream stream) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
    require(parameters);
    copy(s, s.stream(stream, kLegacy), plane(*parameters), Wait::kNo);
  });
}

CUresult cuMemcpy2DAsync_v2_ptsz(const CUDA_MEMCPY2D* parameters, CUstream stream) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
    require(parameters);
    copy(s, s.stream(stream, kPerThread), plane(*parameters), Wait::kNo);
  });
}

CUresult cuMemsetD8_v2(CUdeviceptr address, unsigned char value, size_t count) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
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
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
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
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
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
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
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
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
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
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
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
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
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
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
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
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
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
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
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
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
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
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
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
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
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
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
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
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
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
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
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
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
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
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
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
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
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
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
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
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
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
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
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
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
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
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kCopy, [&](Simulator& s) {
    fill(s, s.stream(stream, kPerThread),
         {.destination = pointer(address),
          .pitch = pitch,
          .value = value,
          .element_bytes = 4,
          .width = width,
          .rows = height});
  });
}

CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kAllocate, [&](Simulator& s) {
    allocate_async(s, address, bytes, s.stream(stream, kLegacy));
  });
}

CUresult cuMemAllocAsync_ptsz(CUdeviceptr* address, size_t bytes, CUstream stream) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kAllocate, [&](Simulator& s) {
    allocate_async(s, address, bytes, s.stream(stream, kPerThread));
  });
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kAllocate,
                 [&](Simulator& s) { free_async(s, address, s.stream(stream, kLegacy)); });
}

CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream) {
  static const DriverEntry kEntry{__func__};
  return perform(kEntry, Cost::kAllocate,
                 [&](Simulator& s) { free_async(s, address, s.stream(stream, kPerThread)); });
}
