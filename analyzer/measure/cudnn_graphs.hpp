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

struct AttentionShape {
  cudnnDataType_t type = CUDNN_DATA_BFLOAT16;
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t q_len = 1;
  std::int64_t kv_len = 1;
  std::int64_t head_dim = 1;
  bool is_causal = false;  // each query sees a key more than the one before it, the last one all
};
struct AttentionIds {
  static constexpr std::int64_t kQ = 'q', kK = 'k', kV = 'v', kO = 'o';
  static constexpr std::int64_t kDq = 'Q', kDk = 'K', kDv = 'V', kDo = 'O';
  // f32: the logarithm of each row's sum, which the forward pass leaves; each row's sum of dO O;
  // and what dQ is added up in, which must be 0 before a run.
  static constexpr std::int64_t kStatistics = 'l', kRowSums = 'd', kDqSum = 'a';
  static constexpr std::int64_t kScale = 's', kMinusInfinity = 'm';  // f32 values of the host's
  static constexpr std::int64_t kMoreKeys = 'n';  // than queries, an i32 value of the host's
};
// The forward pass as the library's one operation for it (cuDNN 9.13), which has no mask yet.
// Throws Skipped where it was built with an older header.
void add_attention_operation(BackendGraph& graph, const AttentionShape& shape);
// The same as products, a mask, and the softmax's parts, whose results never reach the memory: the
// graph that cuDNN's engines for attention recognise.
void add_attention_parts(BackendGraph& graph, const AttentionShape& shape);
// The backward pass, likewise.
void add_attention_backward_parts(BackendGraph& graph, const AttentionShape& shape);

struct NormShape {
  cudnnBackendNormMode_t mode = CUDNN_LAYER_NORM;  // or CUDNN_RMS_NORM
  cudnnDataType_t type = CUDNN_DATA_BFLOAT16;      // of rows; scale, bias, statistics are f32
  std::int64_t rows = 1;
  std::int64_t columns = 1;
};
struct NormIds {
  static constexpr std::int64_t kX = 'x', kY = 'y', kScale = 's', kBias = 'b', kMean = 'm',
                                kInverseDeviation = 'v';
  static constexpr std::int64_t kDx = 'X', kDy = 'Y', kDscale = 'S', kDbias = 'B';
  static constexpr std::int64_t kEpsilon = 'e';  // an f32 value of the host's
};
// As training has it: with the statistics that the backward pass reads.
void add_norm_forward(BackendGraph& graph, const NormShape& shape);
void add_norm_backward(BackendGraph& graph, const NormShape& shape);

}  // namespace inline_prof::measure
