// Recurrent networks: where their weights lie, and the kernels of each pass.
#pragma once

#include "cudnn/convolution.hpp"

namespace simgpu {

// One matrix or bias in the weight space.
struct RnnParameter {
  std::int32_t pseudo_layer;  // layer * directions + direction
  std::int32_t id;  // linLayerID: inputs of the gates, then recurrent ones, the projection
  bool is_bias;
  std::int64_t rows, columns;
  std::size_t offset;  // in elements
};

// In the order of the weight space: all matrices, then all biases.
[[nodiscard]] std::vector<RnnParameter> parameters_of(const cudnnRNNStruct& rnn);
[[nodiscard]] std::size_t weight_space_bytes(const cudnnRNNStruct& rnn);

// Sizes of what each step and layer keeps, and of what training keeps for the backward pass.
[[nodiscard]] std::size_t workspace_bytes(const cudnnRNNStruct& rnn, const cudnnRNNDataStruct& x);
[[nodiscard]] std::size_t reserve_bytes(const cudnnRNNStruct& rnn, const cudnnRNNDataStruct& x);

// Elements of an output vector in one direction: the projection's, if there is one.
[[nodiscard]] std::int32_t output_size(const cudnnRNNStruct& rnn);
[[nodiscard]] inline std::int32_t directions_of(const cudnnRNNStruct& rnn) {
  return rnn.direction == CUDNN_BIDIRECTIONAL ? 2 : 1;
}

// The standard algorithm: for each layer one product over all steps, then for each step a product
// and a kernel for the gates.  The persistent ones have one kernel for all the steps of a layer.
[[nodiscard]] std::vector<KernelCall> rnn_forward(const cudnnRNNStruct& rnn,
                                                  const cudnnRNNDataStruct& x, bool is_training);
[[nodiscard]] std::vector<KernelCall> rnn_backward_data(const cudnnRNNStruct& rnn,
                                                        const cudnnRNNDataStruct& x);
[[nodiscard]] std::vector<KernelCall> rnn_backward_weights(const cudnnRNNStruct& rnn,
                                                           const cudnnRNNDataStruct& x);

}  // namespace simgpu
