// Launches.
#include "driver/call.hpp"
#include "driver/observed.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

using namespace inline_prof::simgpu;

namespace {

constexpr auto kLegacy = DefaultStream::kLegacy;
constexpr auto kPerThread = DefaultStream::kPerThread;

struct LaunchRequest {
  CUfunction function;
  std::array<unsigned, 3> grid;
  std::array<unsigned, 3> block;
  unsigned shared_bytes;
  void** parameters;
  void** extra;
};

// cuda.h, cuLaunchKernel: a CUkernel may be cast to CUfunction, "the context to launch the kernel
// on will either be taken from the specified stream or the current context in case of NULL stream".
Function& resolve(Simulator& s, CUfunction handle, const Stream& stream) {
  if (auto* kernel = reinterpret_cast<Kernel*>(handle); s.kernels.contains(kernel)) {
    return s.function_of(s.module_of(*stream.context, *kernel->library), *kernel);
  }
  return s.function(handle);
}

// The limits that cuDeviceGetAttribute reports.
void require_block(const std::array<unsigned, 3>& block) {
  const auto [x, y, z] = block;
  require_value(x >= 1 && y >= 1 && z >= 1 && x <= 1024 && y <= 1024 && z <= 64 &&
                x * y * z <= 1024);
}

// The first parameter of a kernel with one of the simulator's own (simgpu.h); parameters come one
// by one or in a buffer.
const void* first_parameter(const LaunchRequest& request) {
  if (request.parameters != nullptr) return request.parameters[0];
  for (void** extra = request.extra; extra != nullptr && *extra != CU_LAUNCH_PARAM_END;
       extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) return extra[1];
  }
  return nullptr;
}

void launch(Simulator& s, Stream& stream, const LaunchRequest& request) {
  require_value(request.function != nullptr);
  const Function& function = resolve(s, request.function, stream);
  if (function.context != stream.context) throw Failure{CUDA_ERROR_INVALID_HANDLE};
  require_block(request.block);
  const auto [gx, gy, gz] = request.grid;
  require_value(gx >= 1 && gy >= 1 && gz >= 1 && gx <= INT32_MAX && gy <= 65535 && gz <= 65535);
  require_value(request.shared_bytes <= static_cast<unsigned>(function.max_dynamic_shared_bytes));
  // "CUDA_ERROR_INVALID_VALUE will be returned if kernel parameters are specified with both".
  require_value(request.parameters == nullptr || request.extra == nullptr);

  KernelWork work{.kernel = function.kernel,
                  .context = function.context,
                  .grid = request.grid,
                  .block = request.block,
                  .dynamic_shared_bytes = request.shared_bytes};
  std::shared_ptr<Meeting> meeting;
  if (function.kernel->takes_work || function.kernel->takes_meeting) {
    const void* parameter = first_parameter(request);
    require_value(parameter != nullptr);
    std::memcpy(&work.work, parameter, sizeof work.work);  // both begin with it
    if (function.kernel->takes_meeting) {
      simgpu_meeting contract;
      std::memcpy(&contract, parameter, sizeof contract);
      meeting = std::make_shared<Meeting>(contract);
    }
  }
  s.launch(stream, work, std::move(meeting));
}

// The attributes change how a GPU schedules the kernel; here they are accepted where that has no
// counterpart in virtual time, and refused where it would change what a program observes.
void require_supported(const CUlaunchConfig& config) {
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    switch (config.attrs[i].id) {
      case CU_LAUNCH_ATTRIBUTE_IGNORE:
      case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
      case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
      case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        break;
      default:
        throw Failure{CUDA_ERROR_NOT_SUPPORTED};
    }
  }
}

void launch_config(Simulator& s, const CUlaunchConfig* config, CUfunction function,
                   void** parameters, void** extra, DefaultStream which) {
  require(config);
  require_value(config->numAttrs == 0 || config->attrs != nullptr);
  require_supported(*config);
  launch(s, s.stream(config->hStream, which),
         {.function = function,
          .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
          .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
          .shared_bytes = config->sharedMemBytes,
          .parameters = parameters,
          .extra = extra});
}

// cuda.h, cuLaunchCooperativeKernel: "The total number of blocks launched cannot exceed the maximum
// number of blocks per multiprocessor [...] times the number of multiprocessors".
void launch_cooperative(Simulator& s, Stream& stream, const LaunchRequest& request) {
  require_value(request.function != nullptr);
  const Kernel& kernel = *resolve(s, request.function, stream).kernel;
  require_block(request.block);
  const auto [bx, by, bz] = request.block;
  const int per_sm = s.blocks_per_sm(kernel, static_cast<int>(bx * by * bz), request.shared_bytes);
  if (LaunchShape{.grid = request.grid}.blocks() >
      static_cast<double>(per_sm) * s.model.device.sm_count) {
    throw Failure{CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE};
  }
  launch(s, stream, request);
}

simgpu_api_call call_of(const char* function, const LaunchRequest& request, CUstream stream) {
  simgpu_api_call call{};
  call.function = function;
  call.handle = request.function;
  std::copy(request.grid.begin(), request.grid.end(), call.grid);
  std::copy(request.block.begin(), request.block.end(), call.block);
  call.shared_bytes = request.shared_bytes;
  call.stream = stream;
  call.parameters = request.parameters;
  call.extra = request.extra;
  return call;
}

simgpu_api_call call_of(const char* function, const CUlaunchConfig* config, CUfunction handle,
                        void** parameters, void** extra) {
  simgpu_api_call call{};
  call.function = function;
  call.handle = handle;
  call.config = config;
  call.parameters = parameters;
  call.extra = extra;
  return call;
}

}  // namespace

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                        unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                        unsigned int block_z, unsigned int shared_bytes, CUstream stream,
                        void** parameters, void** extra) {
  static const DriverEntry entry{__func__};
  const LaunchRequest request{.function = function,
                              .grid = {grid_x, grid_y, grid_z},
                              .block = {block_x, block_y, block_z},
                              .shared_bytes = shared_bytes,
                              .parameters = parameters,
                              .extra = extra};
  return observed(call_of(__func__, request, stream), [&] {
    return perform(entry, Cost::kLaunch,
                   [&](Simulator& s) { launch(s, s.stream(stream, kLegacy), request); });
  });
}

CUresult cuLaunchKernel_ptsz(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                             unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                             unsigned int block_z, unsigned int shared_bytes, CUstream stream,
                             void** parameters, void** extra) {
  static const DriverEntry entry{__func__};
  const LaunchRequest request{.function = function,
                              .grid = {grid_x, grid_y, grid_z},
                              .block = {block_x, block_y, block_z},
                              .shared_bytes = shared_bytes,
                              .parameters = parameters,
                              .extra = extra};
  return observed(call_of(__func__, request, stream), [&] {
    return perform(entry, Cost::kLaunch,
                   [&](Simulator& s) { launch(s, s.stream(stream, kPerThread), request); });
  });
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                   unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                   unsigned int block_z, unsigned int shared_bytes, CUstream stream,
                                   void** parameters) {
  static const DriverEntry entry{__func__};
  const LaunchRequest request{.function = function,
                              .grid = {grid_x, grid_y, grid_z},
                              .block = {block_x, block_y, block_z},
                              .shared_bytes = shared_bytes,
                              .parameters = parameters,
                              .extra = nullptr};
  return observed(call_of(__func__, request, stream), [&] {
    return perform(entry, Cost::kLaunch, [&](Simulator& s) {
      launch_cooperative(s, s.stream(stream, kLegacy), request);
    });
  });
}

CUresult cuLaunchCooperativeKernel_ptsz(CUfunction function, unsigned int grid_x,
                                        unsigned int grid_y, unsigned int grid_z,
                                        unsigned int block_x, unsigned int block_y,
                                        unsigned int block_z, unsigned int shared_bytes,
                                        CUstream stream, void** parameters) {
  static const DriverEntry entry{__func__};
  const LaunchRequest request{.function = function,
                              .grid = {grid_x, grid_y, grid_z},
                              .block = {block_x, block_y, block_z},
                              .shared_bytes = shared_bytes,
                              .parameters = parameters,
                              .extra = nullptr};
  return observed(call_of(__func__, request, stream), [&] {
    return perform(entry, Cost::kLaunch, [&](Simulator& s) {
      launch_cooperative(s, s.stream(stream, kPerThread), request);
    });
  });
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void** extra) {
  static const DriverEntry entry{__func__};
  return observed(call_of(__func__, config, function, parameters, extra), [&] {
    return perform(entry, Cost::kLaunch, [&](Simulator& s) {
      launch_config(s, config, function, parameters, extra, kLegacy);
    });
  });
}

CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction function, void** parameters,
                               void** extra) {
  static const DriverEntry entry{__func__};
  return observed(call_of(__func__, config, function, parameters, extra), [&] {
    return perform(entry, Cost::kLaunch, [&](Simulator& s) {
      launch_config(s, config, function, parameters, extra, kPerThread);
    });
  });
}
