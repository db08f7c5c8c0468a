#include "driver/launch_request.hpp"

#include "driver/call.hpp"

#include <algorithm>
#include <cstring>

namespace simgpu {
namespace {

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

}  // namespace

Function& resolve(Simulator& s, CUfunction handle, Context& context) {
  if (auto* kernel = reinterpret_cast<Kernel*>(handle); s.kernels.contains(kernel)) {
    return s.function_of(s.module_of(context, *kernel->library), *kernel);
  }
  return s.function(handle);
}

void require_block(const std::array<unsigned, 3>& block) {
  const auto [x, y, z] = block;
  require_value(x >= 1 && y >= 1 && z >= 1 && x <= 1024 && y <= 1024 && z <= 64 &&
                x * y * z <= 1024);
}

KernelWork kernel_work(const Function& function, const LaunchRequest& request) {
  require_block(request.block);
  const auto [gx, gy, gz] = request.grid;
  require_value(gx >= 1 && gy >= 1 && gz >= 1 && gx <= INT32_MAX && gy <= 65535 && gz <= 65535);
  require_value(request.shared_bytes <=
                static_cast<unsigned>(function.settings.max_dynamic_shared_bytes));
  // "CUDA_ERROR_INVALID_VALUE will be returned if kernel parameters are specified with both".
  require_value(request.parameters == nullptr || request.extra == nullptr);

  KernelWork work{.kernel = function.kernel,
                  .context = function.context,
                  .grid = request.grid,
                  .block = request.block,
                  .dynamic_shared_bytes = request.shared_bytes};
  if (function.kernel->takes_work || function.kernel->takes_meeting) {
    const void* parameter = first_parameter(request);
    require_value(parameter != nullptr);
    std::memcpy(&work.work, parameter, sizeof work.work);  // both begin with it
  }
  return work;
}

std::unique_ptr<simgpu_meeting> meeting_of(const Kernel& kernel, const LaunchRequest& request) {
  if (!kernel.takes_meeting) return nullptr;
  auto contract = std::make_unique<simgpu_meeting>();
  std::memcpy(contract.get(), first_parameter(request), sizeof *contract);
  return contract;
}

void keep_arguments(KernelWork& work, const LaunchRequest& request) {
  work.arguments =
      std::make_shared<KernelArguments>(*work.kernel, request.parameters, request.extra);
  if (const auto contract = meeting_of(*work.kernel, request)) {
    require_value(contract->again != nullptr);
    work.meetings = std::make_shared<MeetingSource>(*contract);
  }
}

// cuda.h, cuGraphInstantiate: priorities "are copied from stream priority during stream capture".
bool overlaps(const LaunchRequest& request) {
  return std::any_of(
      request.attributes.begin(), request.attributes.end(), [](const CUlaunchAttribute& attribute) {
        return attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
               attribute.value.programmaticStreamSerializationAllowed != 0;
      });
}

void keep_attributes(KernelWork& work, const LaunchRequest& request, const Stream& stream) {
  work.attributes[CU_LAUNCH_ATTRIBUTE_PRIORITY].priority = stream.priority;
  for (CUlaunchAttribute& attribute : request.attributes) {
    if (attribute.id != CU_LAUNCH_ATTRIBUTE_IGNORE) work.attributes[attribute.id] = attribute.value;
  }
}

}  // namespace simgpu
