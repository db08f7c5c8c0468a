// A launch's arguments, as our wrappers and CUPTI's callbacks get them.
#pragma once

#include "hook/launch.hpp"

#include <cuda.h>

#include <array>

namespace inline_prof::launch {

// A null stream is the legacy or the per-thread default stream, depending on the function called.
[[nodiscard]] inline CUstream explicit_stream(CUstream stream, bool per_thread) noexcept {
  if (stream != nullptr) return stream;
  return per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
}

// Returns null if the launch does not have the attribute.
[[nodiscard]] inline const CUlaunchAttributeValue* attribute_of(const CUlaunchConfig& config,
                                                                CUlaunchAttributeID id) noexcept {
  for (unsigned i = 0; config.attrs != nullptr && i < config.numAttrs; ++i) {
    if (config.attrs[i].id == id) return &config.attrs[i].value;
  }
  return nullptr;
}

[[nodiscard]] inline std::array<unsigned, 3> cluster_of(const CUlaunchConfig& config) noexcept {
  const auto* value = attribute_of(config, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  if (value == nullptr) return {1, 1, 1};
  return {value->clusterDim.x, value->clusterDim.y, value->clusterDim.z};
}

// Programmatic dependent launch: the kernel may begin before the one before it has ended.
[[nodiscard]] inline bool may_overlap(const CUlaunchConfig& config) noexcept {
  const auto* value = attribute_of(config, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  return value != nullptr && value->programmaticStreamSerializationAllowed != 0;
}

[[nodiscard]] inline hook::Launch launch_of(const char* api, CUstream on,
                                            const CUlaunchConfig& config,
                                            CUfunction function) noexcept {
  return {.api = api,
          .function = function,
          .stream = on,
          .grid = {config.gridDimX, config.gridDimY, config.gridDimZ},
          .block = {config.blockDimX, config.blockDimY, config.blockDimZ},
          .cluster = cluster_of(config),
          .dynamic_shared_bytes = config.sharedMemBytes,
          .may_overlap = may_overlap(config)};
}

}  // namespace inline_prof::launch
