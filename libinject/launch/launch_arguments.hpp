// Helpers for a launch's arguments, as our wrappers and CUPTI's callbacks get them.
#pragma once

#include <cuda.h>

#include <array>

namespace inline_prof::hook {

// A null stream is the legacy or the per-thread default stream, depending on the function called.
[[nodiscard]] inline CUstream explicit_stream(CUstream stream, bool per_thread) noexcept {
  if (stream != nullptr) return stream;
  return per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
}

[[nodiscard]] inline std::array<unsigned, 3> cluster_of(const CUlaunchConfig& config) noexcept {
  for (unsigned i = 0; config.attrs != nullptr && i < config.numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config.attrs[i];
    if (attribute.id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    return {attribute.value.clusterDim.x, attribute.value.clusterDim.y,
            attribute.value.clusterDim.z};
  }
  return {1, 1, 1};
}

// Programmatic dependent launch: the kernel may begin before the one before it has ended.
[[nodiscard]] inline bool may_overlap(const CUlaunchConfig& config) noexcept {
  for (unsigned i = 0; config.attrs != nullptr && i < config.numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config.attrs[i];
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
        attribute.value.programmaticStreamSerializationAllowed != 0) {
      return true;
    }
  }
  return false;
}

}  // namespace inline_prof::hook
