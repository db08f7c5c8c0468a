// Memory: allocation and what is known about addresses.
#include "runtime/call.hpp"
#include "runtime/images.hpp"

#include <bit>
#include <cstring>
#include <vector>

using namespace simgpu;

namespace {

CUdeviceptr address_of(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

CUdeviceptr* slot(void** pointer) {
  return reinterpret_cast<CUdeviceptr*>(pointer);
}

cudaMemoryType memory_type(CUmemorytype type, bool managed) {
  if (managed) return cudaMemoryTypeManaged;
  return type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
}

}  // namespace

SIMGPU_CALL(cudaMalloc, kDevice, pointer, bytes) {
  // The header is silent on a size of 0, which the driver refuses; programs rely on success and a
  // null pointer.
  if (pointer != nullptr && bytes == 0) {
    *pointer = nullptr;
    return CUDA_SUCCESS;
  }
  return driver.mem_alloc(slot(pointer), bytes);
}

SIMGPU_CALL(cudaMallocPitch, kDevice, pointer, pitch, width, height) {
  return driver.mem_alloc_pitch(slot(pointer), pitch, width, height, 4);
}

SIMGPU_CALL(cudaMallocManaged, kDevice, pointer, bytes, flags) {
  return driver.mem_alloc_managed(slot(pointer), bytes, flags);
}

SIMGPU_CALL(cudaFree, kDevice, pointer) {
  return driver.mem_free(address_of(pointer));
}

SIMGPU_FORWARD(cudaMallocHost, kDevice, mem_alloc_host, a, b)
SIMGPU_FORWARD(cudaHostAlloc, kDevice, mem_host_alloc, a, b, c)
SIMGPU_FORWARD(cudaFreeHost, kDevice, mem_free_host, a)
SIMGPU_FORWARD(cudaHostRegister, kDevice, mem_host_register, a, b, c)
SIMGPU_FORWARD(cudaHostUnregister, kDevice, mem_host_unregister, a)

SIMGPU_CALL(cudaHostGetDevicePointer, kDevice, device, host, flags) {
  return driver.mem_host_get_device_pointer(slot(device), host, flags);
}

SIMGPU_FORWARD(cudaHostGetFlags, kDevice, mem_host_get_flags, a, b)
SIMGPU_FORWARD(cudaMemGetInfo, kDevice, mem_get_info, a, b)

SIMGPU_CALL(cudaGetSymbolAddress, kDevice, pointer, symbol) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  size_t bytes = 0;
  const CUresult found = Images::instance().variable_of(driver, symbol, *slot(pointer), bytes);
  return found == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol : static_cast<cudaError_t>(found);
}

SIMGPU_CALL(cudaGetSymbolSize, kDevice, bytes, symbol) {
  if (bytes == nullptr) return cudaErrorInvalidValue;
  CUdeviceptr at = 0;
  const CUresult found = Images::instance().variable_of(driver, symbol, at, *bytes);
  return found == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol : static_cast<cudaError_t>(found);
}

SIMGPU_STREAM_CALL(cudaMallocAsync, kDevice, pointer, bytes, stream) {
  return driver.mem_alloc_async[which](slot(pointer), bytes, stream);
}

SIMGPU_STREAM_CALL(cudaFreeAsync, kDevice, pointer, stream) {
  return driver.mem_free_async[which](address_of(pointer), stream);
}

SIMGPU_CALL(cudaPointerGetAttributes, kDevice, attributes, pointer) {
  if (attributes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  // Not the whole structure: that of a program for CUDA 12 ends before the reserved words.
  attributes->devicePointer = attributes->hostPointer = nullptr;
  CUmemorytype type{};
  if (driver.pointer_get_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address_of(pointer)) !=
      CUDA_SUCCESS) {
    // cuda_runtime_api.h: memory that CUDA does not know is "unregistered", not an error.
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->device = -2;  // cudaInvalidDeviceId
    attributes->hostPointer = const_cast<void*>(pointer);
    return CUDA_SUCCESS;
  }
  unsigned char managed = 0;
  driver.pointer_get_attribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address_of(pointer));
  attributes->type = memory_type(type, managed != 0);
  attributes->devicePointer = const_cast<void*>(pointer);
  if (attributes->type != cudaMemoryTypeDevice) {
    attributes->hostPointer = const_cast<void*>(pointer);
  }
  return driver.pointer_get_attribute(&attributes->device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                      address_of(pointer));
}

// Handles of other processes' memory and events: the runtime's and the driver's are the same bytes.
SIMGPU_CALL(cudaIpcGetMemHandle, kDevice, handle, pointer) {
  return driver.ipc_get_mem_handle(reinterpret_cast<CUipcMemHandle*>(handle), address_of(pointer));
}

SIMGPU_CALL(cudaIpcOpenMemHandle, kDevice, pointer, handle, flags) {
  return driver.ipc_open_mem_handle(slot(pointer), std::bit_cast<CUipcMemHandle>(handle), flags);
}

SIMGPU_CALL(cudaIpcCloseMemHandle, kDevice, pointer) {
  return driver.ipc_close_mem_handle(address_of(pointer));
}

SIMGPU_CALL(cudaIpcGetEventHandle, kDevice, handle, event) {
  return driver.ipc_get_event_handle(reinterpret_cast<CUipcEventHandle*>(handle), event);
}

SIMGPU_CALL(cudaIpcOpenEventHandle, kDevice, event, handle) {
  return driver.ipc_open_event_handle(event, std::bit_cast<CUipcEventHandle>(handle));
}

// Memory pools: structures and enumerations of the runtime and the driver have the same values.
SIMGPU_FORWARD(cudaDeviceGetDefaultMemPool, kDriver, device_get_default_mem_pool, a, b)
SIMGPU_FORWARD(cudaDeviceGetMemPool, kDriver, device_get_mem_pool, a, b)
SIMGPU_FORWARD(cudaDeviceSetMemPool, kDriver, device_set_mem_pool, a, b)
SIMGPU_FORWARD(cudaMemPoolDestroy, kDriver, mem_pool_destroy, a)
SIMGPU_FORWARD(cudaMemPoolTrimTo, kDriver, mem_pool_trim_to, a, b)

SIMGPU_CALL(cudaMemPoolCreate, kDriver, pool, properties) {
  static_assert(sizeof(cudaMemPoolProps) == sizeof(CUmemPoolProps));
  if (properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto same = std::bit_cast<CUmemPoolProps>(*properties);
  return driver.mem_pool_create(pool, &same);
}

SIMGPU_CALL(cudaMemPoolSetAttribute, kDriver, pool, attribute, value) {
  return driver.mem_pool_set_attribute(pool, static_cast<CUmemPool_attribute>(attribute), value);
}

SIMGPU_CALL(cudaMemPoolGetAttribute, kDriver, pool, attribute, value) {
  return driver.mem_pool_get_attribute(pool, static_cast<CUmemPool_attribute>(attribute), value);
}

SIMGPU_CALL(cudaMemPoolSetAccess, kDriver, pool, descriptions, count) {
  static_assert(sizeof(cudaMemAccessDesc) == sizeof(CUmemAccessDesc));
  if (descriptions == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<CUmemAccessDesc> same(count);
  std::memcpy(same.data(), descriptions, count * sizeof *descriptions);
  return driver.mem_pool_set_access(pool, same.data(), count);
}

SIMGPU_CALL(cudaMemPoolGetAccess, kDriver, flags, pool, location) {
  if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto same = std::bit_cast<CUmemLocation>(*location);
  CUmemAccess_flags access{};
  const CUresult result = driver.mem_pool_get_access(&access, pool, &same);
  if (result == CUDA_SUCCESS) *flags = static_cast<cudaMemAccessFlags>(access);
  return result;
}

SIMGPU_STREAM_CALL(cudaMallocFromPoolAsync, kDevice, pointer, bytes, pool, stream) {
  return driver.mem_alloc_from_pool_async[which](slot(pointer), bytes, pool, stream);
}

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                            cudaChannelFormatKind kind) {
  return {.x = x, .y = y, .z = z, .w = w, .f = kind};
}
