// Graphs of cuDNN's backend interface for what is measured by it, and the numbers of their tensors.
// Nothing here needs a GPU.
#pragma once

#include "measure/cudnn_backend.hpp"

#include <array>
#include <cstdint>
#include <cudnn.h>

namespace inline_prof::measure {

enum class ConvPass : std::uint8_t { kForward, kBackwardData, kBackwardFilter };

// `input` and `output` are those of the forward pass, or their gradients.
struct ConvShape {
  ConvPass pass = ConvPass::kForward;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  bool channels_last = false;
  std::array<std::int64_t, 4> input{};   // n, c, h, w
  std::array<std::int64_t, 4> filter{};  // k, c / groups, r, s
  std::array<std::int64_t, 4> output{};  // n, k, p, q
  std::array<std::int64_t, 2> stride{};
  std::array<std::int64_t, 2> pad{};
  std::array<std::int64_t, 2> dilation{};
};
struct ConvIds {
  static constexpr std::int64_t kInput = 'x', kFilter = 'w', kOutput = 'y';
};
void add_convolution(BackendGraph& graph, const ConvShape& shape);

}  // namespace inline_prof::measure
