// Memory.
#include "runtime/call.hpp"
#include "runtime/images.hpp"

using namespace inline_prof::simgpu;

namespace {

CUdeviceptr address(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

CUdeviceptr* slot(void** pointer) {
  return reinterpret_cast<CUdeviceptr*>(pointer);
}

// The driver infers the direction from the pointers (one address space); a kind outside the
// enumeration is still an error.
bool is_kind(cudaMemcpyKind kind) {
  return kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault;
}

CUDA_MEMCPY2D plane(void* destination, size_t destination_pitch, const void* source,
                    size_t source_pitch, size_t width, size_t height) {
  CUDA_MEMCPY2D p{};
  p.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  p.srcDevice = address(source);
  p.srcPitch = source_pitch;
  p.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  p.dstDevice = address(destination);
  p.dstPitch = destination_pitch;
  p.WidthInBytes = width;
  p.Height = height;
  return p;
}

// Where `bytes` bytes at `offset` of a symbol are.
cudaError_t place(const DriverFunctions& driver, const void* symbol, size_t bytes, size_t offset,
                  CUdeviceptr& at) {
  size_t size = 0;
  const CUresult found = Images::instance().variable_of(driver, symbol, at, size);
  if (found == CUDA_ERROR_NOT_FOUND) return cudaErrorInvalidSymbol;
  if (found != CUDA_SUCCESS) return static_cast<cudaError_t>(found);
  if (offset > size || bytes > size - offset) return cudaErrorInvalidValue;
  at += offset;
  return cudaSuccess;
}

cudaMemoryType memory_type(CUmemorytype type, bool managed) {
  if (managed) return cudaMemoryTypeManaged;
  return type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    // cuda_runtime_api.h: a size of 0 gives a null pointer and success; the driver refuses it.
    if (pointer != nullptr && bytes == 0) {
      *pointer = nullptr;
      return CUDA_SUCCESS;
    }
    return driver.mem_alloc(slot(pointer), bytes);
  });
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.mem_alloc_pitch(slot(pointer), pitch, width, height, 4);
  });
}

cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned int flags) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.mem_alloc_managed(slot(pointer), bytes, flags);
  });
}

cudaError_t cudaFree(void* pointer) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice,
              [&](const DriverFunctions& driver) { return driver.mem_free(address(pointer)); });
}

cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice,
              [&](const DriverFunctions& driver) { return driver.mem_alloc_host(pointer, bytes); });
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned int flags) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.mem_host_alloc(pointer, bytes, flags);
  });
}

cudaError_t cudaFreeHost(void* pointer) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice,
              [&](const DriverFunctions& driver) { return driver.mem_free_host(pointer); });
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned int flags) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.mem_host_register(pointer, bytes, flags);
  });
}

cudaError_t cudaHostUnregister(void* pointer) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice,
              [&](const DriverFunctions& driver) { return driver.mem_host_unregister(pointer); });
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned int flags) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.mem_host_get_device_pointer(slot(device), host, flags);
  });
}

cudaError_t cudaHostGetFlags(unsigned int* flags, void* host) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.mem_host_get_flags(flags, host);
  });
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.mem_get_info(free_bytes, total);
  });
}

cudaError_t cudaMemcpy(void* destination, const void* source, size_t bytes, cudaMemcpyKind kind) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    if (!is_kind(kind)) return CUDA_ERROR_INVALID_VALUE;
    return driver.memcpy(address(destination), address(source), bytes);
  });
}

cudaError_t cudaMemcpy_ptds(void* destination, const void* source, size_t bytes,
                            cudaMemcpyKind kind) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    if (!is_kind(kind)) return CUDA_ERROR_INVALID_VALUE;
    return driver.memcpy_ptsz(address(destination), address(source), bytes);
  });
}

cudaError_t cudaMemcpyAsync(void* destination, const void* source, size_t bytes,
                            cudaMemcpyKind kind, cudaStream_t stream) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    if (!is_kind(kind)) return CUDA_ERROR_INVALID_VALUE;
    return driver.memcpy_async(address(destination), address(source), bytes, stream);
  });
}

cudaError_t cudaMemcpyAsync_ptsz(void* destination, const void* source, size_t bytes,
                                 cudaMemcpyKind kind, cudaStream_t stream) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    if (!is_kind(kind)) return CUDA_ERROR_INVALID_VALUE;
    return driver.memcpy_async_ptsz(address(destination), address(source), bytes, stream);
  });
}

cudaError_t cudaMemcpy2D(void* destination, size_t destination_pitch, const void* source,
                         size_t source_pitch, size_t width, size_t height, cudaMemcpyKind kind) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    if (!is_kind(kind)) return CUDA_ERROR_INVALID_VALUE;
    const auto p = plane(destination, destination_pitch, source, source_pitch, width, height);
    return driver.memcpy2dunaligned(&p);
  });
}

cudaError_t cudaMemcpy2D_ptds(void* destination, size_t destination_pitch, const void* source,
                              size_t source_pitch, size_t width, size_t height,
                              cudaMemcpyKind kind) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    if (!is_kind(kind)) return CUDA_ERROR_INVALID_VALUE;
    const auto p = plane(destination, destination_pitch, source, source_pitch, width, height);
    return driver.memcpy2dunaligned_ptsz(&p);
  });
}

cudaError_t cudaMemcpy2DAsync(void* destination, size_t destination_pitch, const void* source,
                              size_t source_pitch, size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    if (!is_kind(kind)) return CUDA_ERROR_INVALID_VALUE;
    const auto p = plane(destination, destination_pitch, source, source_pitch, width, height);
    return driver.memcpy2dasync(&p, stream);
  });
}

cudaError_t cudaMemcpy2DAsync_ptsz(void* destination, size_t destination_pitch, const void* source,
                                   size_t source_pitch, size_t width, size_t height,
                                   cudaMemcpyKind kind, cudaStream_t stream) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    if (!is_kind(kind)) return CUDA_ERROR_INVALID_VALUE;
    const auto p = plane(destination, destination_pitch, source, source_pitch, width, height);
    return driver.memcpy2dasync_ptsz(&p, stream);
  });
}

cudaError_t cudaMemset(void* pointer, int value, size_t bytes) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.memset_d8(address(pointer), static_cast<unsigned char>(value), bytes);
  });
}

cudaError_t cudaMemset_ptds(void* pointer, int value, size_t bytes) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.memset_d8_ptsz(address(pointer), static_cast<unsigned char>(value), bytes);
  });
}

cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.memset_d8_async(address(pointer), static_cast<unsigned char>(value), bytes,
                                  stream);
  });
}

cudaError_t cudaMemsetAsync_ptsz(void* pointer, int value, size_t bytes, cudaStream_t stream) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.memset_d8_async_ptsz(address(pointer), static_cast<unsigned char>(value), bytes,
                                       stream);
  });
}

cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.memset_2d8(address(pointer), pitch, static_cast<unsigned char>(value), width,
                             height);
  });
}

cudaError_t cudaMemset2D_ptds(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.memset_2d8_ptsz(address(pointer), pitch, static_cast<unsigned char>(value), width,
                                  height);
  });
}

cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.memset_2d8_async(address(pointer), pitch, static_cast<unsigned char>(value),
                                   width, height, stream);
  });
}

cudaError_t cudaMemset2DAsync_ptsz(void* pointer, size_t pitch, int value, size_t width,
                                   size_t height, cudaStream_t stream) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.memset_2d8_async_ptsz(address(pointer), pitch, static_cast<unsigned char>(value),
                                        width, height, stream);
  });
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* source, size_t bytes, size_t offset,
                               cudaMemcpyKind) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    CUdeviceptr at = 0;
    if (const auto error = place(driver, symbol, bytes, offset, at); error != cudaSuccess)
      return error;
    return static_cast<cudaError_t>(driver.memcpy(at, address(source), bytes));
  });
}

cudaError_t cudaMemcpyToSymbol_ptds(const void* symbol, const void* source, size_t bytes,
                                    size_t offset, cudaMemcpyKind) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    CUdeviceptr at = 0;
    if (const auto error = place(driver, symbol, bytes, offset, at); error != cudaSuccess)
      return error;
    return static_cast<cudaError_t>(driver.memcpy_ptsz(at, address(source), bytes));
  });
}

cudaError_t cudaMemcpyFromSymbol(void* destination, const void* symbol, size_t bytes, size_t offset,
                                 cudaMemcpyKind) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    CUdeviceptr at = 0;
    if (const auto error = place(driver, symbol, bytes, offset, at); error != cudaSuccess)
      return error;
    return static_cast<cudaError_t>(driver.memcpy(address(destination), at, bytes));
  });
}

cudaError_t cudaMemcpyFromSymbol_ptds(void* destination, const void* symbol, size_t bytes,
                                      size_t offset, cudaMemcpyKind) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    CUdeviceptr at = 0;
    if (const auto error = place(driver, symbol, bytes, offset, at); error != cudaSuccess)
      return error;
    return static_cast<cudaError_t>(driver.memcpy_ptsz(address(destination), at, bytes));
  });
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* source, size_t bytes,
                                    size_t offset, cudaMemcpyKind, cudaStream_t stream) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    CUdeviceptr at = 0;
    if (const auto error = place(driver, symbol, bytes, offset, at); error != cudaSuccess)
      return error;
    return static_cast<cudaError_t>(driver.memcpy_async(at, address(source), bytes, stream));
  });
}

cudaError_t cudaMemcpyToSymbolAsync_ptsz(const void* symbol, const void* source, size_t bytes,
                                         size_t offset, cudaMemcpyKind, cudaStream_t stream) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    CUdeviceptr at = 0;
    if (const auto error = place(driver, symbol, bytes, offset, at); error != cudaSuccess)
      return error;
    return static_cast<cudaError_t>(driver.memcpy_async_ptsz(at, address(source), bytes, stream));
  });
}

cudaError_t cudaMemcpyFromSymbolAsync(void* destination, const void* symbol, size_t bytes,
                                      size_t offset, cudaMemcpyKind, cudaStream_t stream) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    CUdeviceptr at = 0;
    if (const auto error = place(driver, symbol, bytes, offset, at); error != cudaSuccess)
      return error;
    return static_cast<cudaError_t>(driver.memcpy_async(address(destination), at, bytes, stream));
  });
}

cudaError_t cudaMemcpyFromSymbolAsync_ptsz(void* destination, const void* symbol, size_t bytes,
                                           size_t offset, cudaMemcpyKind, cudaStream_t stream) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    CUdeviceptr at = 0;
    if (const auto error = place(driver, symbol, bytes, offset, at); error != cudaSuccess)
      return error;
    return static_cast<cudaError_t>(
        driver.memcpy_async_ptsz(address(destination), at, bytes, stream));
  });
}

cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    if (pointer == nullptr) return cudaErrorInvalidValue;
    return place(driver, symbol, 0, 0, *slot(pointer));
  });
}

cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    if (bytes == nullptr) return cudaErrorInvalidValue;
    CUdeviceptr at = 0;
    const CUresult found = Images::instance().variable_of(driver, symbol, at, *bytes);
    return found == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol : static_cast<cudaError_t>(found);
  });
}

cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.mem_alloc_async(slot(pointer), bytes, stream);
  });
}

cudaError_t cudaMallocAsync_ptsz(void** pointer, size_t bytes, cudaStream_t stream) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.mem_alloc_async_ptsz(slot(pointer), bytes, stream);
  });
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.mem_free_async(address(pointer), stream);
  });
}

cudaError_t cudaFreeAsync_ptsz(void* pointer, cudaStream_t stream) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.mem_free_async_ptsz(address(pointer), stream);
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  static const RuntimeEntry kEntry{__func__};
  return call(kEntry, Needs::kDevice, [&](const DriverFunctions& driver) {
    if (attributes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *attributes = {};
    CUmemorytype type{};
    if (driver.pointer_get_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address(pointer)) !=
        CUDA_SUCCESS) {
      // cuda_runtime_api.h: memory that CUDA does not know is "unregistered", not an error.
      attributes->type = cudaMemoryTypeUnregistered;
      attributes->device = -2;  // cudaInvalidDeviceId
      attributes->hostPointer = const_cast<void*>(pointer);
      return CUDA_SUCCESS;
    }
    unsigned char managed = 0;
    driver.pointer_get_attribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address(pointer));
    attributes->type = memory_type(type, managed != 0);
    attributes->devicePointer = const_cast<void*>(pointer);
    if (attributes->type != cudaMemoryTypeDevice) {
      attributes->hostPointer = const_cast<void*>(pointer);
    }
    return driver.pointer_get_attribute(&attributes->device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                        address(pointer));
  });
}

}  // extern "C"
