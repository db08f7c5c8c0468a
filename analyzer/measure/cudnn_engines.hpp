// Convolutions by one engine of cuDNN's graph interface, which has more of them than algorithms.
#pragma once

#include "measure/gpu.hpp"

#include <array>
#include <cstdint>
#include <cudnn.h>

namespace inline_prof::measure {

struct EngineConvolution {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  bool channels_last = false;
  std::array<std::int64_t, 4> input{};   // n, c, h, w
  std::array<std::int64_t, 4> filter{};  // k, c / groups, r, s
  std::array<std::int64_t, 4> output{};  // n, k, p, q
  std::array<std::int64_t, 2> stride{};
  std::array<std::int64_t, 2> pad{};
  std::array<std::int64_t, 2> dilation{};
  void* input_data = nullptr;
  void* filter_data = nullptr;
  void* output_data = nullptr;
};

// The forward pass by engine number `engine` of those that cuDNN counts for it, with the settings
// that the engine has by itself.  Throws Skipped where there is none, or it cannot do this one.
[[nodiscard]] Work engine_work(cudnnHandle_t handle, Gpu& gpu, const EngineConvolution& convolution,
                               std::int64_t engine);

}  // namespace inline_prof::measure
