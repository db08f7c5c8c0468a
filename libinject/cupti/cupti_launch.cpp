#include "cupti/cupti_launch.hpp"

#include "launch/launch_arguments.hpp"

namespace inline_prof::cupti {
namespace {

// cuLaunchKernel_params and cuLaunchCooperativeKernel_params share these members' names.
template <typename Parameters>
hook::Launch launch_from(const char* api, const Parameters& p, bool per_thread) noexcept {
  return {.api = api,
          .function = p.f,
          .stream = launch::explicit_stream(p.hStream, per_thread),
          .grid = {p.gridDimX, p.gridDimY, p.gridDimZ},
          .block = {p.blockDimX, p.blockDimY, p.blockDimZ},
          .cluster = {1, 1, 1},
          .dynamic_shared_bytes = p.sharedMemBytes};
}

std::optional<hook::Launch> launch_from(const CUlaunchConfig* config, CUfunction function,
                                        bool per_thread) noexcept {
  if (config == nullptr) return std::nullopt;
  return launch::launch_of("cuLaunchKernelEx", launch::explicit_stream(config->hStream, per_thread),
                           *config, function);
}

}  // namespace

std::optional<hook::Launch> launch_of(CUpti_CallbackId id, const void* parameters) noexcept {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
      return launch_from("cuLaunchKernel", *static_cast<const cuLaunchKernel_params*>(parameters),
                         false);
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
      return launch_from("cuLaunchKernel",
                         *static_cast<const cuLaunchKernel_ptsz_params*>(parameters), true);
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
      return launch_from("cuLaunchCooperativeKernel",
                         *static_cast<const cuLaunchCooperativeKernel_params*>(parameters), false);
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz:
      return launch_from("cuLaunchCooperativeKernel",
                         *static_cast<const cuLaunchCooperativeKernel_ptsz_params*>(parameters),
                         true);
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx: {
      const auto& p = *static_cast<const cuLaunchKernelEx_params*>(parameters);
      return launch_from(p.config, p.f, false);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz: {
      const auto& p = *static_cast<const cuLaunchKernelEx_ptsz_params*>(parameters);
      return launch_from(p.config, p.f, true);
    }
    default:
      return std::nullopt;
  }
}

}  // namespace inline_prof::cupti
