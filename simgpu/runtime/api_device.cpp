// Devices, versions, driver entry points.
#include "runtime/call.hpp"
#include "runtime/images.hpp"

#include <cstring>

using namespace simgpu;

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
CUresult entry_point(const DriverFunctions& driver, const char* symbol, void** function,
                     unsigned version, unsigned long long flags, DefaultStream which,
                     cudaDriverEntryPointQueryResult* status) {
  const cuuint64_t own_variant = which == kLegacy ? CU_GET_PROC_ADDRESS_LEGACY_STREAM
                                                  : CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  CUdriverProcAddressQueryResult found{};
  const CUresult result =
      driver.get_proc_address(symbol, function, static_cast<int>(version),
                              flags == cudaEnableDefault ? own_variant : flags, &found);
  // The two enumerations are equal, value for value.
  if (status != nullptr) *status = static_cast<cudaDriverEntryPointQueryResult>(found);
  return result;
}

}  // namespace

SIMGPU_FORWARD(cudaGetDeviceCount, kDriver, device_get_count, a)
SIMGPU_FORWARD(cudaGetDevice, kDevice, ctx_get_device, a)

SIMGPU_CALL(cudaSetDevice, kDriver, device) {
  return use_device(driver, device);
}

SIMGPU_CALL(cudaInitDevice, kDriver, device, unused, unused2) {
  // cuda_runtime_api.h: initialises the device without making it current.
  CUcontext before = nullptr;
  driver.ctx_get_current(&before);
  const CUresult result = use_device(driver, device);
  driver.ctx_set_current(before);
  return result;
}

SIMGPU_CALL(cudaSetDeviceFlags, kDevice, flags) {
  CUdevice device = 0;
  if (const CUresult result = driver.ctx_get_device(&device); result != CUDA_SUCCESS) return result;
  return driver.device_primary_ctx_set_flags(device, flags);
}

SIMGPU_CALL(cudaGetDeviceFlags, kDevice, flags) {
  CUdevice device = 0;
  int active = 0;
  if (const CUresult result = driver.ctx_get_device(&device); result != CUDA_SUCCESS) return result;
  return driver.device_primary_ctx_get_state(device, flags, &active);
}

SIMGPU_FORWARD(cudaDeviceSynchronize, kDevice, ctx_synchronize)

SIMGPU_CALL(cudaDeviceReset, kDevice) {
  CUdevice device = 0;
  if (const CUresult result = driver.ctx_get_device(&device); result != CUDA_SUCCESS) return result;
  Images::instance().forget_functions();
  return driver.device_primary_ctx_reset(device);
}

SIMGPU_CALL(cudaGetDeviceProperties, kDriver, properties, device) {
  if (properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return fill_properties(driver, device, *properties);
}

SIMGPU_CALL(cudaDeviceGetAttribute, kDriver, value, attribute, device) {
  return driver.device_get_attribute(value, static_cast<CUdevice_attribute>(attribute), device);
}

SIMGPU_FORWARD(cudaDeviceGetPCIBusId, kDriver, device_get_pci_bus_id, a, b, c)
SIMGPU_FORWARD(cudaDeviceCanAccessPeer, kDriver, device_can_access_peer, a, b, c)

SIMGPU_CALL(cudaDeviceEnablePeerAccess, kDevice, peer, flags) {
  return with_primary(driver, peer, [&](CUcontext context) {
    return driver.ctx_enable_peer_access(context, flags);
  });
}

SIMGPU_CALL(cudaDeviceDisablePeerAccess, kDevice, peer) {
  return with_primary(driver, peer,
                      [&](CUcontext context) { return driver.ctx_disable_peer_access(context); });
}

SIMGPU_FORWARD(cudaDeviceGetStreamPriorityRange, kDevice, ctx_get_stream_priority_range, a, b)

// It answers where the driver is too old for all else, and says 0 where there is none.
cudaError_t cudaDriverGetVersion(int* version) {
  static const RuntimeEntry entry{__func__};
  if (const int injected = entry.begin(); injected != 0) return static_cast<cudaError_t>(injected);
  if (version == nullptr) return cudaErrorInvalidValue;
  *version = 0;
  const DriverFunctions* driver = find_driver();
  if (driver == nullptr) return cudaSuccess;
  return static_cast<cudaError_t>(driver->driver_get_version(version));
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  if (version == nullptr) return cudaErrorInvalidValue;
  *version = runtime_version();
  return cudaSuccess;
}

SIMGPU_STREAM_CALL(cudaGetDriverEntryPoint, kDriver, symbol, function, flags, status) {
  return entry_point(driver, symbol, function, CUDART_VERSION, flags, which, status);
}

SIMGPU_STREAM_CALL(cudaGetDriverEntryPointByVersion, kDriver, symbol, function, version, flags,
                   status) {
  return entry_point(driver, symbol, function, version, flags, which, status);
}
