// Registration of device code, and launches.
#include "runtime/call.hpp"
#include "runtime/images.hpp"

#include <vector>

using namespace simgpu;

namespace {

struct CallConfiguration {
  dim3 grid, block;
  size_t shared_bytes;
  cudaStream_t stream;
};

// <<<>>> pushes, the kernel's stub pops.
thread_local std::vector<CallConfiguration> configurations;

FatBinary& binary_of(void** handle) {
  return *reinterpret_cast<FatBinary*>(handle);
}

struct Launch {
  dim3 grid, block;
  void** arguments;
  size_t shared_bytes;
  cudaStream_t stream;
};

CUresult handle_for(const DriverFunctions& driver, CUkernel kernel, CUfunction& function) {
  if (process_settings().settings.launch_kernel_handles) {
    // cuda.h, cuLaunchKernel: a CUkernel may be launched "by casting to CUfunction".
    function = reinterpret_cast<CUfunction>(kernel);
    return CUDA_SUCCESS;
  }
  return Images::instance().function_of(driver, kernel, function);
}

template <typename DriverLaunch>
cudaError_t launch(const DriverFunctions& driver, DriverLaunch driver_launch, cudaKernel_t kernel,
                   const Launch& l) {
  if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
  CUfunction function = nullptr;
  if (const CUresult result = handle_for(driver, kernel, function); result != CUDA_SUCCESS) {
    return static_cast<cudaError_t>(result);
  }
  return static_cast<cudaError_t>(
      driver_launch(function, l.grid.x, l.grid.y, l.grid.z, l.block.x, l.block.y, l.block.z,
                    static_cast<unsigned>(l.shared_bytes), l.stream, l.arguments, nullptr));
}

// The same by the address of the host stub, which is how the public API names a kernel.
cudaError_t kernel_of(const DriverFunctions& driver, const void* stub, cudaKernel_t& kernel) {
  const CUresult result = Images::instance().kernel_of(driver, stub, kernel);
  return result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidDeviceFunction
                                        : static_cast<cudaError_t>(result);
}

template <typename DriverLaunch>
cudaError_t launch_stub(const DriverFunctions& driver, DriverLaunch driver_launch, const void* stub,
                        const Launch& l) {
  cudaKernel_t kernel = nullptr;
  const cudaError_t found = kernel_of(driver, stub, kernel);
  return found != cudaSuccess ? found : launch(driver, driver_launch, kernel, l);
}

template <typename DriverLaunch>
cudaError_t launch_config(const DriverFunctions& driver, DriverLaunch driver_launch,
                          const cudaLaunchConfig_t* config, const void* stub, void** arguments) {
  if (config == nullptr) return cudaErrorInvalidValue;
  cudaKernel_t kernel = nullptr;
  const cudaError_t found = kernel_of(driver, stub, kernel);
  if (found != cudaSuccess) return found;
  CUfunction function = nullptr;
  if (const CUresult result = handle_for(driver, kernel, function); result != CUDA_SUCCESS) {
    return static_cast<cudaError_t>(result);
  }
  // driver_types.h and cuda.h define the attributes alike, member for member.
  static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute));
  static_assert(int{cudaLaunchAttributePriority} == int{CU_LAUNCH_ATTRIBUTE_PRIORITY});
  const CUlaunchConfig driver_config{
      .gridDimX = config->gridDim.x,
      .gridDimY = config->gridDim.y,
      .gridDimZ = config->gridDim.z,
      .blockDimX = config->blockDim.x,
      .blockDimY = config->blockDim.y,
      .blockDimZ = config->blockDim.z,
      .sharedMemBytes = static_cast<unsigned>(config->dynamicSmemBytes),
      .hStream = config->stream,
      .attrs = reinterpret_cast<CUlaunchAttribute*>(config->attrs),
      .numAttrs = config->numAttrs};
  return static_cast<cudaError_t>(driver_launch(&driver_config, function, arguments, nullptr));
}

template <typename DriverLaunch>
cudaError_t launch_cooperative(const DriverFunctions& driver, DriverLaunch driver_launch,
                               const void* stub, const Launch& l) {
  const auto without_extra = [driver_launch](CUfunction function, unsigned gx, unsigned gy,
                                             unsigned gz, unsigned bx, unsigned by, unsigned bz,
                                             unsigned shared_bytes, CUstream stream,
                                             void** arguments, void**) {
    return driver_launch(function, gx, gy, gz, bx, by, bz, shared_bytes, stream, arguments);
  };
  return launch_stub(driver, without_extra, stub, l);
}

}  // namespace

void** __cudaRegisterFatBinary(void* fat_binary) {
  return reinterpret_cast<void**>(Images::instance().add(fat_binary));
}

void __cudaRegisterFatBinaryEnd(void**) {}

void __cudaUnregisterFatBinary(void** handle) {
  Images::instance().remove(binary_of(handle));
}

void __cudaRegisterFunction(void** handle, const char* host_function, char*,
                            const char* device_name, int, uint3*, uint3*, dim3*, dim3*, int*) {
  Images::instance().add_kernel(binary_of(handle), host_function, device_name);
}

void __cudaRegisterVar(void** handle, char* host_variable, char*, const char* device_name, int,
                       size_t bytes, int, int) {
  Images::instance().add_variable(binary_of(handle), host_variable,
                                  {.name = device_name, .bytes = bytes});
}

void __cudaRegisterManagedVar(void** handle, void** host_pointer, char*, const char* device_name,
                              int, size_t bytes, int, int) {
  Images::instance().add_variable(
      binary_of(handle), host_pointer,
      {.name = device_name, .bytes = bytes, .managed_pointer = host_pointer});
}

char __cudaInitModule(void** handle) {
  static const RuntimeEntry entry{__func__};
  const cudaError_t result = call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return Images::instance().place_managed(driver, binary_of(handle));
  });
  return result == cudaSuccess ? 1 : 0;
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                     struct CUstream_st* stream) {
  configurations.push_back({grid, block, shared_bytes, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes,
                                       void* stream) {
  if (configurations.empty()) return cudaErrorMissingConfiguration;
  const CallConfiguration top = configurations.back();
  configurations.pop_back();
  *grid = top.grid;
  *block = top.block;
  *shared_bytes = top.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = top.stream;
  return cudaSuccess;
}

SIMGPU_CALL(__cudaGetKernel, kDevice, kernel, host_function) {
  return kernel_of(driver, host_function, *kernel);
}

SIMGPU_CALL(cudaGetKernel, kDevice, kernel, host_function) {
  return kernel == nullptr ? cudaErrorInvalidValue : kernel_of(driver, host_function, *kernel);
}

// The function in the current context.
SIMGPU_CALL(cudaGetFuncBySymbol, kDevice, function, stub) {
  if (function == nullptr) return cudaErrorInvalidValue;
  cudaKernel_t kernel = nullptr;
  const cudaError_t found = kernel_of(driver, stub, kernel);
  if (found != cudaSuccess) return found;
  return static_cast<cudaError_t>(Images::instance().function_of(driver, kernel, *function));
}

SIMGPU_STREAM_CALL(__cudaLaunchKernel, kDevice, kernel, grid, block, arguments, shared_bytes,
                   stream) {
  return launch(driver, driver.launch_kernel[which], kernel,
                {grid, block, arguments, shared_bytes, stream});
}

SIMGPU_STREAM_CALL(cudaLaunchKernel, kDevice, stub, grid, block, arguments, shared_bytes, stream) {
  return launch_stub(driver, driver.launch_kernel[which], stub,
                     {grid, block, arguments, shared_bytes, stream});
}

SIMGPU_STREAM_CALL(cudaLaunchCooperativeKernel, kDevice, stub, grid, block, arguments, shared_bytes,
                   stream) {
  return launch_cooperative(driver, driver.launch_cooperative_kernel[which], stub,
                            {grid, block, arguments, shared_bytes, stream});
}

SIMGPU_STREAM_CALL(cudaLaunchKernelExC, kDevice, config, stub, arguments) {
  return launch_config(driver, driver.launch_kernel_ex[which], config, stub, arguments);
}

SIMGPU_STREAM_FORWARD(cudaLaunchHostFunc, kDevice, launch_host_func, a, b, c)

namespace {

cudaError_t function_attribute(const DriverFunctions& driver, CUfunction function,
                               CUfunction_attribute attribute, int& value) {
  return static_cast<cudaError_t>(driver.func_get_attribute(&value, attribute, function));
}

cudaError_t function_of(const DriverFunctions& driver, const void* stub, CUfunction& function) {
  cudaKernel_t kernel = nullptr;
  const cudaError_t found = kernel_of(driver, stub, kernel);
  if (found != cudaSuccess) return found;
  return static_cast<cudaError_t>(Images::instance().function_of(driver, kernel, function));
}

cudaError_t read_attributes(const DriverFunctions& driver, const void* stub,
                            cudaFuncAttributes& out) {
  CUfunction function = nullptr;
  if (const cudaError_t found = function_of(driver, stub, function); found != cudaSuccess) {
    return found;
  }
  int shared = 0, constant = 0, local = 0;
  out = {};
  const struct {
    CUfunction_attribute attribute;
    int* value;
  } wanted[] = {
      {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &shared},
      {CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, &constant},
      {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &local},
      {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &out.maxThreadsPerBlock},
      {CU_FUNC_ATTRIBUTE_NUM_REGS, &out.numRegs},
      {CU_FUNC_ATTRIBUTE_PTX_VERSION, &out.ptxVersion},
      {CU_FUNC_ATTRIBUTE_BINARY_VERSION, &out.binaryVersion},
      {CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, &out.cacheModeCA},
      {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, &out.maxDynamicSharedSizeBytes},
      {CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, &out.preferredShmemCarveout},
  };
  for (const auto& [attribute, value] : wanted) {
    const cudaError_t result = function_attribute(driver, function, attribute, *value);
    if (result != cudaSuccess) return result;
  }
  out.sharedSizeBytes = static_cast<size_t>(shared);
  out.constSizeBytes = static_cast<size_t>(constant);
  out.localSizeBytes = static_cast<size_t>(local);
  return cudaSuccess;
}

cudaError_t occupancy(const DriverFunctions& driver, int* blocks, const void* stub, int threads,
                      size_t dynamic_shared, unsigned flags) {
  CUfunction function = nullptr;
  const cudaError_t found = function_of(driver, stub, function);
  if (found != cudaSuccess) return found;
  return static_cast<cudaError_t>(driver.occupancy_max_active_blocks_per_multiprocessor_with_flags(
      blocks, function, threads, dynamic_shared, flags));
}

}  // namespace

SIMGPU_CALL(cudaFuncGetAttributes, kDevice, attributes, stub) {
  if (attributes == nullptr) return cudaErrorInvalidValue;
  return read_attributes(driver, stub, *attributes);
}

SIMGPU_CALL(cudaFuncSetAttribute, kDevice, stub, attribute, value) {
  CUfunction function = nullptr;
  const cudaError_t found = function_of(driver, stub, function);
  if (found != cudaSuccess) return found;
  // driver_types.h numbers them as cuda.h does.
  return driver.func_set_attribute(function, static_cast<CUfunction_attribute>(attribute), value);
}

SIMGPU_CALL(cudaFuncSetCacheConfig, kDevice, stub, config) {
  CUfunction function = nullptr;
  const cudaError_t found = function_of(driver, stub, function);
  if (found != cudaSuccess) return found;
  return driver.func_set_cache_config(function, static_cast<CUfunc_cache>(config));
}

SIMGPU_CALL(cudaFuncGetName, kDevice, name, stub) {
  if (name == nullptr) return cudaErrorInvalidValue;
  cudaKernel_t kernel = nullptr;
  const cudaError_t found = kernel_of(driver, stub, kernel);
  if (found != cudaSuccess) return found;
  return driver.kernel_get_name(name, kernel);
}

SIMGPU_CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor, kDevice, blocks, stub, threads,
            dynamic_shared) {
  return occupancy(driver, blocks, stub, threads, dynamic_shared, 0);
}

SIMGPU_CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, kDevice, blocks, stub, threads,
            dynamic_shared, flags) {
  return occupancy(driver, blocks, stub, threads, dynamic_shared, flags);
}
