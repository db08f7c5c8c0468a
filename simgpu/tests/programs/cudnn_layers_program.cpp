// Normalization, recurrent networks and other layers of the simulated cuDNN; the argument names the
// scene.
#include "scenes.hpp"

#include <cuda_runtime.h>

#include <cstdint>
#include <cudnn.h>
#include <vector>

namespace {

cudnnHandle_t handle = nullptr;
void* data = nullptr;
constexpr std::size_t kDataBytes = std::size_t{1} << 28;
constexpr float kOne = 1, kZero = 0;

void show(const char* what, cudnnStatus_t status) {
  std::printf("%s %s\n", what, cudnnGetErrorString(status));
}

cudnnTensorDescriptor_t tensor(const std::vector<int>& dims, bool is_nhwc = false) {
  cudnnTensorDescriptor_t result = nullptr;
  CHECK(cudnnCreateTensorDescriptor(&result));
  CHECK(cudnnSetTensorNdDescriptorEx(result, is_nhwc ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW,
                                     CUDNN_DATA_FLOAT, static_cast<int>(dims.size()), dims.data()));
  return result;
}

cudnnStatus_t normalize(cudnnBatchNormMode_t mode, cudnnTensorDescriptor_t x,
                        cudnnTensorDescriptor_t parameters, void* saved_deviation = data) {
  std::size_t workspace = 0, reserve = 0;
  const auto status = cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
      handle, mode, CUDNN_BATCHNORM_OPS_BN, x, nullptr, x, parameters, nullptr, &workspace);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  CHECK(cudnnGetBatchNormalizationTrainingExReserveSpaceSize(handle, mode, CUDNN_BATCHNORM_OPS_BN,
                                                             nullptr, x, &reserve));
  return cudnnBatchNormalizationForwardTrainingEx(
      handle, mode, CUDNN_BATCHNORM_OPS_BN, &kOne, &kZero, x, data, nullptr, nullptr, x, data,
      parameters, data, data, 0.1, data, data, 1e-5, data, saved_deviation, nullptr, data,
      workspace, data, reserve);
}

// 16 images of 32 x 8 x 8: training, inference and the way back.
void batch_norm() {
  const auto x = tensor({16, 32, 8, 8}), nhwc = tensor({16, 32, 8, 8}, true),
             each = tensor({1, 32, 8, 8}), channels = tensor({1, 32, 1, 1});
  show("channels", normalize(CUDNN_BATCHNORM_SPATIAL, x, channels));
  show("channels last", normalize(CUDNN_BATCHNORM_SPATIAL_PERSISTENT, nhwc, channels));
  show("activations", normalize(CUDNN_BATCHNORM_PER_ACTIVATION, x, each));
  show("parameters of another mode", normalize(CUDNN_BATCHNORM_PER_ACTIVATION, x, channels));
  show("mean alone", normalize(CUDNN_BATCHNORM_SPATIAL, x, channels, nullptr));
  show("inference", cudnnBatchNormalizationForwardInference(handle, CUDNN_BATCHNORM_SPATIAL, &kOne,
                                                            &kZero, x, data, x, data, channels,
                                                            data, data, data, data, 1e-5));
  show("backward",
       cudnnBatchNormalizationBackwardEx(
           handle, CUDNN_BATCHNORM_SPATIAL, CUDNN_BATCHNORM_OPS_BN, &kOne, &kZero, &kOne, &kZero, x,
           data, nullptr, nullptr, x, data, nullptr, nullptr, x, data, channels, data, nullptr,
           data, data, 1e-5, data, data, nullptr, nullptr, 0, nullptr, 0));
  for (const auto descriptor : {x, nhwc, each, channels})
    CHECK(cudnnDestroyTensorDescriptor(descriptor));
}

struct Network {
  Network(cudnnRNNMode_t cell, int projected, cudnnDirectionMode_t direction,
          cudnnRNNAlgo_t algo = CUDNN_RNN_ALGO_STANDARD, float probability = 0)
      : outputs((projected > 0 ? projected : 64) * (direction == CUDNN_BIDIRECTIONAL ? 2 : 1)) {
    CHECK(cudnnCreateRNNDescriptor(&rnn));
    CHECK(cudnnCreateRNNDataDescriptor(&x));
    CHECK(cudnnCreateRNNDataDescriptor(&y));
    CHECK(cudnnCreateDropoutDescriptor(&dropout));
    std::size_t states = 0;
    CHECK(cudnnDropoutGetStatesSize(handle, &states));
    CHECK(cudnnSetDropoutDescriptor(dropout, handle, probability, probability > 0 ? data : nullptr,
                                    states, 1));
    CHECK(cudnnSetRNNDescriptor_v8(rnn, algo, cell, CUDNN_RNN_DOUBLE_BIAS, direction,
                                   CUDNN_LINEAR_INPUT, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT,
                                   CUDNN_FMA_MATH, 32, 64, projected, 2, dropout,
                                   CUDNN_RNN_PADDED_IO_DISABLED));
    const int lengths[] = {5, 5, 3, 1};
    CHECK(cudnnSetRNNDataDescriptor(x, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED, 5,
                                    4, 32, lengths, nullptr));
    CHECK(cudnnSetRNNDataDescriptor(y, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED, 5,
                                    4, outputs, lengths, nullptr));
    CHECK(cudnnGetRNNWeightSpaceSize(handle, rnn, &weights));
    CHECK(cudnnGetRNNTempSpaceSizes(handle, rnn, CUDNN_FWD_MODE_TRAINING, x, &workspace, &reserve));
  }
  ~Network() {
    CHECK(cudnnDestroyRNNDescriptor(rnn));
    CHECK(cudnnDestroyRNNDataDescriptor(x));
    CHECK(cudnnDestroyRNNDataDescriptor(y));
    CHECK(cudnnDestroyDropoutDescriptor(dropout));
  }
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  [[nodiscard]] cudnnStatus_t forward(std::size_t room) const {
    return cudnnRNNForward(handle, rnn, CUDNN_FWD_MODE_TRAINING, nullptr, x, data, y, data, nullptr,
                           nullptr, data, nullptr, nullptr, data, weights, data, room, data,
                           reserve, data);
  }
  [[nodiscard]] cudnnStatus_t backward_data() const {
    return cudnnRNNBackwardData_v8(handle, rnn, nullptr, y, data, data, x, data, nullptr, nullptr,
                                   nullptr, data, nullptr, nullptr, nullptr, data, weights, data,
                                   workspace, data, reserve, data);
  }
  [[nodiscard]] cudnnStatus_t backward_weights() const {
    return cudnnRNNBackwardWeights_v8(handle, rnn, CUDNN_WGRAD_MODE_ADD, nullptr, x, data, nullptr,
                                      nullptr, y, data, weights, data, workspace, data, reserve,
                                      data);
  }
  void train(const char* name) const {
    const auto status = forward(workspace);
    std::printf("%s %s %s %s\n", name, cudnnGetErrorString(status),
                cudnnGetErrorString(backward_data()), cudnnGetErrorString(backward_weights()));
  }

  int outputs;
  cudnnRNNDescriptor_t rnn = nullptr;
  cudnnRNNDataDescriptor_t x = nullptr, y = nullptr;
  cudnnDropoutDescriptor_t dropout = nullptr;
  std::size_t weights = 0, workspace = 0, reserve = 0;
};

// Prints where a parameter lies, in elements, and its size.
void show_parameter(const Network& network, int layer, int id) {
  const auto matrix = tensor({1, 1, 1}), bias = tensor({1, 1, 1});
  void *matrix_address = nullptr, *bias_address = nullptr;
  CHECK(cudnnGetRNNWeightParams(handle, network.rnn, layer, network.weights, data, id, matrix,
                                &matrix_address, bias, &bias_address));
  cudnnDataType_t type{};
  int count = 0, dims[3] = {}, strides[3] = {};
  CHECK(cudnnGetTensorNdDescriptor(matrix, 3, &type, &count, dims, strides));
  const auto place = [](const void* address) {
    return (static_cast<const char*>(address) - static_cast<const char*>(data)) / 4;
  };
  std::printf("layer %d, %d: %d x %d at %td", layer, id, dims[1], dims[2], place(matrix_address));
  CHECK(cudnnGetTensorNdDescriptor(bias, 3, &type, &count, dims, strides));
  if (bias_address == nullptr) {
    std::printf(", no bias\n");
  } else {
    std::printf(", bias %d at %td\n", dims[1], place(bias_address));
  }
  CHECK(cudnnDestroyTensorDescriptor(matrix));
  CHECK(cudnnDestroyTensorDescriptor(bias));
}

void rnn() {
  const Network lstm(CUDNN_LSTM, 0, CUDNN_UNIDIRECTIONAL);
  show_parameter(lstm, 0, 0);
  show_parameter(lstm, 0, 4);
  show_parameter(lstm, 1, 3);
  std::printf("%zu elements\n", lstm.weights / 4);
  show("no room", lstm.forward(lstm.workspace - 1));
  lstm.train("lstm");
}

void more_rnns() {
  const Network projected(CUDNN_LSTM, 16, CUDNN_BIDIRECTIONAL);
  show_parameter(projected, 3, 8);
  projected.train("projected");
  Network(CUDNN_GRU, 0, CUDNN_UNIDIRECTIONAL, CUDNN_RNN_ALGO_PERSIST_STATIC, 0.5F).train("gru");
  const int unsorted[] = {1, 2};
  show("unsorted", cudnnSetRNNDataDescriptor(projected.x, CUDNN_DATA_FLOAT,
                                             CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED, 2, 2, 32,
                                             unsorted, nullptr));
}

// Runs the other layers: each call is one kernel, but the loss's gradients are a second one.
void layers() {
  const auto x = tensor({4, 8, 16, 16}), sampled = tensor({4, 8, 8, 8});
  cudnnSpatialTransformerDescriptor_t transformer = nullptr;
  CHECK(cudnnCreateSpatialTransformerDescriptor(&transformer));
  const int dims[] = {4, 8, 8, 8};
  CHECK(cudnnSetSpatialTransformerNdDescriptor(transformer, CUDNN_SAMPLER_BILINEAR,
                                               CUDNN_DATA_FLOAT, 4, dims));
  show("grid", cudnnSpatialTfGridGeneratorForward(handle, transformer, data, data));
  show("its gradient", cudnnSpatialTfGridGeneratorBackward(handle, transformer, data, data));
  show("sampler", cudnnSpatialTfSamplerForward(handle, transformer, &kOne, x, data, data, &kZero,
                                               sampled, data));
  show("its gradient",
       cudnnSpatialTfSamplerBackward(handle, transformer, &kOne, x, data, &kZero, x, data, &kOne,
                                     sampled, data, data, &kZero, data));
  CHECK(cudnnDestroySpatialTransformerDescriptor(transformer));

  cudnnCTCLossDescriptor_t loss = nullptr;
  CHECK(cudnnCreateCTCLossDescriptor(&loss));
  CHECK(cudnnSetCTCLossDescriptor_v9(loss, CUDNN_DATA_FLOAT, CUDNN_LOSS_NORMALIZATION_SOFTMAX,
                                     CUDNN_CTC_ZERO_OOB_GRADIENTS, 8));
  const auto probabilities = tensor({50, 2, 30});
  std::size_t room = 0;
  CHECK(cudnnGetCTCLossWorkspaceSize_v8(handle, CUDNN_CTC_LOSS_ALGO_DETERMINISTIC, loss,
                                        probabilities, probabilities, &room));
  const auto* numbers = static_cast<const int*>(data);
  show("loss", cudnnCTCLoss_v8(handle, CUDNN_CTC_LOSS_ALGO_DETERMINISTIC, loss, probabilities, data,
                               numbers, numbers, numbers, data, probabilities, data, room, data));
  show("loss without room",
       cudnnCTCLoss_v8(handle, CUDNN_CTC_LOSS_ALGO_DETERMINISTIC, loss, probabilities, data,
                       numbers, numbers, numbers, data, probabilities, data, room - 1, data));
  CHECK(cudnnDestroyCTCLossDescriptor(loss));
  for (const auto descriptor : {x, sampled, probabilities})
    CHECK(cudnnDestroyTensorDescriptor(descriptor));
}

}  // namespace

int main(int, char** argv) {
  CHECK(cudnnCreate(&handle));
  CHECK(cudaMalloc(&data, kDataBytes));
  const int status = play(
      argv[1],
      {{"batch_norm", batch_norm}, {"rnn", rnn}, {"more_rnns", more_rnns}, {"layers", layers}});
  CHECK(cudaDeviceSynchronize());
  CHECK(cudnnDestroy(handle));
  return status;
}
