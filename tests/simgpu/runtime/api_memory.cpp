// Memory: allocation and what is known about addresses.
#include "runtime/call.hpp"
#include "runtime/images.hpp"

using namespace inline_prof::simgpu;

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

extern "C" {

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    // The header is silent on a size of 0, which the driver refuses; programs rely on success and a
    // null pointer.
    if (pointer != nullptr && bytes == 0) {
      *pointer = nullptr;
      return CUDA_SUCCESS;
    }
    return driver.mem_alloc(slot(pointer), bytes);
  });
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.mem_alloc_pitch(slot(pointer), pitch, width, height, 4);
  });
}

cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned int flags) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.mem_alloc_managed(slot(pointer), bytes, flags);
  });
}

cudaError_t cudaFree(void* pointer) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice,
              [&](const DriverFunctions& driver) { return driver.mem_free(address_of(pointer)); });
}

cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice,
              [&](const DriverFunctions& driver) { return driver.mem_alloc_host(pointer, bytes); });
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned int flags) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.mem_host_alloc(pointer, bytes, flags);
  });
}

cudaError_t cudaFreeHost(void* pointer) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice,
              [&](const DriverFunctions& driver) { return driver.mem_free_host(pointer); });
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned int flags) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.mem_host_register(pointer, bytes, flags);
  });
}

cudaError_t cudaHostUnregister(void* pointer) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice,
              [&](const DriverFunctions& driver) { return driver.mem_host_unregister(pointer); });
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned int flags) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.mem_host_get_device_pointer(slot(device), host, flags);
  });
}

cudaError_t cudaHostGetFlags(unsigned int* flags, void* host) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.mem_host_get_flags(flags, host);
  });
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.mem_get_info(free_bytes, total);
  });
}

cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    if (pointer == nullptr) return cudaErrorInvalidValue;
    size_t bytes = 0;
    const CUresult found = Images::instance().variable_of(driver, symbol, *slot(pointer), bytes);
    return found == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol : static_cast<cudaError_t>(found);
  });
}

cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    if (bytes == nullptr) return cudaErrorInvalidValue;
    CUdeviceptr at = 0;
    const CUresult found = Images::instance().variable_of(driver, symbol, at, *bytes);
    return found == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol : static_cast<cudaError_t>(found);
  });
}

cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.mem_alloc_async(slot(pointer), bytes, stream);
  });
}

cudaError_t cudaMallocAsync_ptsz(void** pointer, size_t bytes, cudaStream_t stream) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.mem_alloc_async_ptsz(slot(pointer), bytes, stream);
  });
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.mem_free_async(address_of(pointer), stream);
  });
}

cudaError_t cudaFreeAsync_ptsz(void* pointer, cudaStream_t stream) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.mem_free_async_ptsz(address_of(pointer), stream);
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    if (attributes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *attributes = {};
    CUmemorytype type{};
    if (driver.pointer_get_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                     address_of(pointer)) != CUDA_SUCCESS) {
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
  });
}

}  // extern "C"
