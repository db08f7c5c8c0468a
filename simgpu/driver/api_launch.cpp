// Launches.
#include "driver/call.hpp"
#include "driver/launch_request.hpp"
#include "driver/observed.hpp"

#include <algorithm>
#include <array>

using namespace simgpu;

namespace {

void launch(Simulator& s, Stream& stream, const LaunchRequest& request) {
  require_value(request.function != nullptr);
  const Function& function = resolve(s, request.function, *stream.context);
  if (function.context != stream.context) throw Failure{CUDA_ERROR_INVALID_HANDLE};
  s.launch(stream, kernel_work(function, request), request);
  if (process_settings().settings.launch_blocking && !s.capturing(stream)) s.synchronize(stream);
}

// The attributes change how a GPU schedules the kernel; here they are accepted where that has no
// counterpart in virtual time, and refused where it would change what a program observes.
void require_supported(const CUlaunchConfig& config, const Stream& stream) {
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
      case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        // "This attribute is graphs-only, and passing it to a launch in a non-capturing stream will
        // result in an error."
        require_value(stream.capture != nullptr);
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
  Stream& stream = s.stream(config->hStream, which);
  require_supported(*config, stream);
  launch(s, stream,
         {.function = function,
          .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
          .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
          .shared_bytes = config->sharedMemBytes,
          .parameters = parameters,
          .extra = extra,
          .attributes = {config->attrs, config->numAttrs}});
}

// cuda.h, cuLaunchCooperativeKernel: "The total number of blocks launched cannot exceed the maximum
// number of blocks per multiprocessor [...] times the number of multiprocessors".
void launch_cooperative(Simulator& s, Stream& stream, const LaunchRequest& request) {
  require_value(request.function != nullptr);
  const Kernel& kernel = *resolve(s, request.function, *stream.context).kernel;
  require_block(request.block);
  const auto [bx, by, bz] = request.block;
  const int per_sm = s.blocks_per_sm(kernel, static_cast<int>(bx * by * bz), request.shared_bytes);
  if (LaunchShape{.grid = request.grid}.blocks() >
      static_cast<double>(per_sm) * s.model.device.sm_count) {
    throw Failure{CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE};
  }
  CUlaunchAttribute cooperative{};
  cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  cooperative.value.cooperative = 1;
  LaunchRequest with_attribute = request;
  with_attribute.attributes = {&cooperative, 1};
  launch(s, stream, with_attribute);
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

SIMGPU_STREAM_FUNCTION(cuLaunchKernel, cuLaunchKernel_v4000, function, grid_x, grid_y, grid_z,
                       block_x, block_y, block_z, shared_bytes, stream, parameters, extra) {
  const LaunchRequest request{.function = function,
                              .grid = {grid_x, grid_y, grid_z},
                              .block = {block_x, block_y, block_z},
                              .shared_bytes = shared_bytes,
                              .parameters = parameters,
                              .extra = extra};
  return observed(call_of(entry.function(), request, stream), [&] {
    return perform(entry, Cost::kLaunch,
                   [&](Simulator& s) { launch(s, s.stream(stream, which), request); });
  });
}

SIMGPU_STREAM_FUNCTION(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel_v9000, function, grid_x,
                       grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream,
                       parameters) {
  const LaunchRequest request{.function = function,
                              .grid = {grid_x, grid_y, grid_z},
                              .block = {block_x, block_y, block_z},
                              .shared_bytes = shared_bytes,
                              .parameters = parameters,
                              .extra = nullptr};
  return observed(call_of(entry.function(), request, stream), [&] {
    return perform(entry, Cost::kLaunch,
                   [&](Simulator& s) { launch_cooperative(s, s.stream(stream, which), request); });
  });
}

SIMGPU_STREAM_FUNCTION(cuLaunchKernelEx, cuLaunchKernelEx_v11060, config, function, parameters,
                       extra) {
  return observed(call_of(entry.function(), config, function, parameters, extra), [&] {
    return perform(entry, Cost::kLaunch, [&](Simulator& s) {
      launch_config(s, config, function, parameters, extra, which);
    });
  });
}
