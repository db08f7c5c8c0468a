// Convolutions by the older functions of the simulated cuDNN; the argument names the scene.
#include "cudnn_layer.hpp"
#include "scenes.hpp"

#include <cuda_runtime.h>

#include <array>

namespace {

using cudnn_graph::Layer;
using cudnn_graph::LayerMemory;
using cudnn_graph::LayerShape;

cudnnHandle_t handle = nullptr;
void* data = nullptr;
constexpr std::size_t kDataBytes = std::size_t{1} << 29;

void show(const char* what, cudnnStatus_t status) {
  std::printf("%s %s\n", what, cudnnGetErrorString(status));
}

LayerMemory memory(std::size_t workspace_bytes = kDataBytes) {
  return {data, data, data, data, workspace_bytes};
}

// 32 images of 64 x 56 x 56, 128 filters of 3 x 3, padding 1.
constexpr LayerShape kPlain{
    .n = 32, .c = 64, .h = 56, .w = 56, .k = 128, .r = 3, .s = 3, .p = 56, .q = 56, .pad = 1};

LayerShape by_channels(cudnnDataType_t type, int groups = 1) {
  LayerShape shape = kPlain;
  shape.format = CUDNN_TENSOR_NHWC;
  shape.type = type;
  shape.groups = groups;
  return shape;
}

void descriptors() {
  const Layer layer(by_channels(CUDNN_DATA_BFLOAT16, 4));
  int n = 0, c = 0, h = 0, w = 0;
  CHECK(cudnnGetConvolution2dForwardOutputDim(layer.convolution, layer.x, layer.w, &n, &c, &h, &w));
  std::printf("output %d %d %d %d\n", n, c, h, w);
  cudnnDataType_t type{};
  int count = 0;
  std::array<int, CUDNN_DIM_MAX> dims{}, strides{};
  CHECK(cudnnGetTensorNdDescriptor(layer.x, CUDNN_DIM_MAX, &type, &count, dims.data(),
                                   strides.data()));
  std::printf("%d dimensions, strides %d %d %d %d, type %d\n", count, strides[0], strides[1],
              strides[2], strides[3], type);
  cudnnTensorFormat_t format{};
  CHECK(cudnnGetFilterNdDescriptor(layer.w, CUDNN_DIM_MAX, &type, &format, &count, dims.data()));
  std::printf("filter %d %d %d %d, format %d\n", dims[0], dims[1], dims[2], dims[3], format);
  int groups = 0;
  CHECK(cudnnGetConvolutionGroupCount(layer.convolution, &groups));
  std::printf("%d groups\n", groups);
  show("no channels",
       cudnnSetTensor4dDescriptor(layer.x, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 0, 8, 8));
  show("no stride", cudnnSetConvolution2dDescriptor(layer.convolution, 1, 1, 0, 1, 1, 1,
                                                    CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
}

void every_algorithm() {
  const Layer layer(kPlain);
  for (int i = 0; i < CUDNN_CONVOLUTION_FWD_ALGO_COUNT; ++i) {
    const auto algo = static_cast<cudnnConvolutionFwdAlgo_t>(i);
    std::size_t bytes = 0;
    const auto status = cudnnGetConvolutionForwardWorkspaceSize(
        handle, layer.x, layer.w, layer.convolution, layer.y, algo, &bytes);
    std::printf("forward %d %s, workspace %s\n", i,
                cudnnGetErrorString(layer.forward(handle, memory(), algo)),
                status != CUDNN_STATUS_SUCCESS ? "unknown"
                : bytes > 0                    ? "needed"
                                               : "none");
  }
  for (int i = 0; i < CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT; ++i) {
    std::printf("data %d %s\n", i,
                cudnnGetErrorString(layer.backward_data(
                    handle, memory(), static_cast<cudnnConvolutionBwdDataAlgo_t>(i))));
  }
  for (int i = 0; i < CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT; ++i) {
    std::printf("filter %d %s\n", i,
                cudnnGetErrorString(layer.backward_filter(
                    handle, memory(), static_cast<cudnnConvolutionBwdFilterAlgo_t>(i))));
  }
}

void checks() {
  const Layer layer(kPlain);
  show("no room", layer.forward(handle, memory(100), CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED));
  const Layer nhwc(by_channels(CUDNN_DATA_HALF));
  show("nhwc winograd", nhwc.forward(handle, memory(), CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD));
  show("nhwc gemm",
       nhwc.forward(handle, memory(), CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM));
  CHECK(cudnnSetTensor4dDescriptor(nhwc.y, CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF, 32, 128, 55, 56));
  show("wrong output",
       nhwc.forward(handle, memory(), CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM));
}

void choice() {
  const Layer layer(kPlain);
  std::array<cudnnConvolutionFwdAlgoPerf_t, 8> results{};
  int count = 0;
  CHECK(cudnnGetConvolutionForwardAlgorithm_v7(handle, layer.x, layer.w, layer.convolution, layer.y,
                                               8, &count, results.data()));
  std::printf("heuristic: %d results, first %d, time %.0f, last %s\n", count, results[0].algo,
              static_cast<double>(results[0].time), cudnnGetErrorString(results[7].status));
  CHECK(cudnnFindConvolutionForwardAlgorithm(handle, layer.x, layer.w, layer.convolution, layer.y,
                                             3, &count, results.data()));
  const bool sorted = results[0].time > 0 && results[0].time <= results[1].time &&
                      results[1].time <= results[2].time;
  std::printf("measured: %d results, %s\n", count, sorted ? "sorted" : "not sorted");
}

// A forward pass with bias and activation, and back.
void block() {
  const Layer layer(by_channels(CUDNN_DATA_HALF));
  cudnnTensorDescriptor_t bias = nullptr;
  CHECK(cudnnCreateTensorDescriptor(&bias));
  CHECK(cudnnSetTensor4dDescriptor(bias, CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF, 1, 128, 1, 1));
  cudnnActivationDescriptor_t relu = nullptr;
  CHECK(cudnnCreateActivationDescriptor(&relu));
  CHECK(cudnnSetActivationDescriptor(relu, CUDNN_ACTIVATION_RELU, CUDNN_NOT_PROPAGATE_NAN, 0));
  const float one = 1, zero = 0;
  CHECK(layer.forward(handle, memory(), CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM));
  CHECK(cudnnAddTensor(handle, &one, bias, data, &one, layer.y, data));
  CHECK(cudnnActivationForward(handle, relu, &one, layer.y, data, &zero, layer.y, data));
  CHECK(cudnnActivationBackward(handle, relu, &one, layer.y, data, layer.y, data, layer.y, data,
                                &zero, layer.y, data));
  CHECK(cudnnConvolutionBackwardBias(handle, &one, layer.y, data, &zero, bias, data));
  CHECK(layer.backward_filter(handle, memory(), CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1));
  CHECK(layer.backward_data(handle, memory(), CUDNN_CONVOLUTION_BWD_DATA_ALGO_1));
  CHECK(cudnnConvolutionBiasActivationForward(
      handle, &one, layer.x, data, layer.w, data, layer.convolution,
      CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, data, kDataBytes, &zero, layer.y, data,
      bias, data, relu, layer.y, data));
  CHECK(cudnnDestroyActivationDescriptor(relu));
  CHECK(cudnnDestroyTensorDescriptor(bias));
}

}  // namespace

int main(int, char** argv) {
  if (const auto status = cudnnCreate(&handle); status != CUDNN_STATUS_SUCCESS) {
    show("create", status);
    return 1;
  }
  CHECK(cudaMalloc(&data, kDataBytes));
  const int status = play(argv[1], {{"descriptors", descriptors},
                                    {"every_algorithm", every_algorithm},
                                    {"checks", checks},
                                    {"choice", choice},
                                    {"block", block}});
  CHECK(cudaDeviceSynchronize());
  CHECK(cudnnDestroy(handle));
  return status;
}
