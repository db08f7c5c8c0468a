// Devices, versions, driver entry points.
#include "runtime/call.hpp"
#include "runtime/images.hpp"

#include <cstring>

using namespace inline_prof::simgpu;

namespace {

// cudaDeviceAttr has the numbers of CUdevice_attribute (driver_types.h, cuda.h).
static_assert(int{cudaDevAttrMaxThreadsPerBlock} == int{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK});
static_assert(int{cudaDevAttrMemoryPoolsSupported} ==
              int{CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED});

CUresult fill_properties(const DriverFunctions& driver, int device, cudaDeviceProp& p) {
  p = {};
  CUdevice handle = 0;
  if (const CUresult result = driver.device_get(&handle, device); result != CUDA_SUCCESS) {
    return result;
  }
  const auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    driver.device_get_attribute(&value, which, handle);
    return value;
  };
  const auto bytes = [&](CUdevice_attribute which) {
    return static_cast<size_t>(attribute(which));
  };
  p.sharedMemPerBlock = bytes(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  p.regsPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  p.warpSize = attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  p.maxThreadsPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  p.maxThreadsDim[0] = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
  p.maxThreadsDim[1] = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
  p.maxThreadsDim[2] = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
  p.maxGridSize[0] = attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  p.maxGridSize[1] = attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
  p.maxGridSize[2] = attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  p.totalConstMem = bytes(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
  p.major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  p.minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  p.multiProcessorCount = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  p.canMapHostMemory = attribute(CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
  p.concurrentKernels = attribute(CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS);
  p.pciBusID = attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
  p.asyncEngineCount = attribute(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
  p.unifiedAddressing = attribute(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
  p.memoryBusWidth = attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  p.l2CacheSize = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  p.maxThreadsPerMultiProcessor = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  p.streamPrioritiesSupported = attribute(CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED);
  p.sharedMemPerMultiprocessor = bytes(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  p.regsPerMultiprocessor = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  p.managedMemory = attribute(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
  p.concurrentManagedAccess = attribute(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
  p.cooperativeLaunch = attribute(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
  p.sharedMemPerBlockOptin = bytes(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  p.maxBlocksPerMultiProcessor = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  p.reservedSharedMemPerBlock = bytes(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  p.memoryPoolsSupported = attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);

  CUuuid uuid{};
  driver.device_get_uuid(&uuid, handle);
  static_assert(sizeof p.uuid == sizeof uuid);
  std::memcpy(&p.uuid, &uuid, sizeof uuid);
  driver.device_total_mem(&p.totalGlobalMem, handle);
  return driver.device_get_name(p.name, sizeof p.name, handle);
}

// cuda_runtime_api.h, cudaGetDriverEntryPointByVersion: cudaEnableDefault means the stream variant
// that the program was compiled for.
cudaError_t entry_point(const DriverFunctions& driver, const char* symbol, void** function,
                        unsigned version, unsigned long long flags, cuuint64_t own_variant,
                        cudaDriverEntryPointQueryResult* status) {
  CUdriverProcAddressQueryResult found{};
  const CUresult result =
      driver.get_proc_address(symbol, function, static_cast<int>(version),
                              flags == cudaEnableDefault ? own_variant : flags, &found);
  // The two enumerations are equal, value for value.
  if (status != nullptr) *status = static_cast<cudaDriverEntryPointQueryResult>(found);
  return static_cast<cudaError_t>(result);
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDriver,
              [&](const DriverFunctions& driver) { return driver.device_get_count(count); });
}

cudaError_t cudaGetDevice(int* device) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice,
              [&](const DriverFunctions& driver) { return driver.ctx_get_device(device); });
}

cudaError_t cudaSetDevice(int device) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDriver,
              [&](const DriverFunctions& driver) { return use_device(driver, device); });
}

cudaError_t cudaInitDevice(int device, unsigned int, unsigned int) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDriver, [&](const DriverFunctions& driver) {
    // cuda_runtime_api.h: initialises the device without making it current.
    CUcontext before = nullptr;
    driver.ctx_get_current(&before);
    const CUresult result = use_device(driver, device);
    driver.ctx_set_current(before);
    return result;
  });
}

cudaError_t cudaSetDeviceFlags(unsigned int flags) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    CUdevice device = 0;
    if (const CUresult result = driver.ctx_get_device(&device); result != CUDA_SUCCESS)
      return result;
    return driver.device_primary_ctx_set_flags(device, flags);
  });
}

cudaError_t cudaGetDeviceFlags(unsigned int* flags) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    CUdevice device = 0;
    int active = 0;
    if (const CUresult result = driver.ctx_get_device(&device); result != CUDA_SUCCESS)
      return result;
    return driver.device_primary_ctx_get_state(device, flags, &active);
  });
}

cudaError_t cudaDeviceSynchronize() {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice,
              [&](const DriverFunctions& driver) { return driver.ctx_synchronize(); });
}

cudaError_t cudaDeviceReset() {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    CUdevice device = 0;
    if (const CUresult result = driver.ctx_get_device(&device); result != CUDA_SUCCESS)
      return result;
    Images::instance().forget_functions();
    return driver.device_primary_ctx_reset(device);
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDriver, [&](const DriverFunctions& driver) {
    if (properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return fill_properties(driver, device, *properties);
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDriver, [&](const DriverFunctions& driver) {
    return driver.device_get_attribute(value, static_cast<CUdevice_attribute>(attribute), device);
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDriver, [&](const DriverFunctions& driver) {
    return driver.device_get_pci_bus_id(text, length, device);
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* can_access, int device, int peer) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDriver, [&](const DriverFunctions& driver) {
    return driver.device_can_access_peer(can_access, device, peer);
  });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.ctx_get_stream_priority_range(least, greatest);
  });
}

cudaError_t cudaDriverGetVersion(int* version) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDriver,
              [&](const DriverFunctions& driver) { return driver.driver_get_version(version); });
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  if (version == nullptr) return cudaErrorInvalidValue;
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* status) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDriver, [&](const DriverFunctions& driver) {
    return entry_point(driver, symbol, function, CUDART_VERSION, flags,
                       CU_GET_PROC_ADDRESS_LEGACY_STREAM, status);
  });
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function,
                                             unsigned int version, unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* status) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDriver, [&](const DriverFunctions& driver) {
    return entry_point(driver, symbol, function, version, flags, CU_GET_PROC_ADDRESS_LEGACY_STREAM,
                       status);
  });
}

cudaError_t cudaGetDriverEntryPoint_ptsz(const char* symbol, void** function,
                                         unsigned long long flags,
                                         cudaDriverEntryPointQueryResult* status) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDriver, [&](const DriverFunctions& driver) {
    return entry_point(driver, symbol, function, CUDART_VERSION, flags,
                       CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, status);
  });
}

cudaError_t cudaGetDriverEntryPointByVersion_ptsz(const char* symbol, void** function,
                                                  unsigned int version, unsigned long long flags,
                                                  cudaDriverEntryPointQueryResult* status) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDriver, [&](const DriverFunctions& driver) {
    return entry_point(driver, symbol, function, version, flags,
                       CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, status);
  });
}

}  // extern "C"
