// Convolutions by the older functions of the simulated cuDNN; the argument names the scene.
#include "scenes.hpp"

#include <cuda_runtime.h>

#include <array>
#include <cudnn.h>

namespace {

cudnnHandle_t handle = nullptr;
void* data = nullptr;
constexpr std::size_t kDataBytes = std::size_t{1} << 29;

void show(const char* what, cudnnStatus_t status) {
  std::printf("%s %s\n", what, cudnnGetErrorString(status));
}

// 32 images of 64 x 56 x 56, 128 filters of 3 x 3, padding 1.
struct Layer {
  explicit Layer(cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW,
                 cudnnDataType_t type = CUDNN_DATA_FLOAT, int groups = 1) {
    CHECK(cudnnCreateTensorDescriptor(&x));
    CHECK(cudnnCreateTensorDescriptor(&y));
    CHECK(cudnnCreateTensorDescriptor(&bias));
    CHECK(cudnnCreateFilterDescriptor(&w));
    CHECK(cudnnCreateConvolutionDescriptor(&convolution));
    CHECK(cudnnSetTensor4dDescriptor(x, format, type, 32, 64, 56, 56));
    CHECK(cudnnSetTensor4dDescriptor(y, format, type, 32, 128, 56, 56));
    CHECK(cudnnSetTensor4dDescriptor(bias, format, type, 1, 128, 1, 1));
    CHECK(cudnnSetFilter4dDescriptor(w, type, format, 128, 64 / groups, 3, 3));
    CHECK(cudnnSetConvolution2dDescriptor(convolution, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION,
                                          CUDNN_DATA_FLOAT));
    CHECK(cudnnSetConvolutionGroupCount(convolution, groups));
  }
  ~Layer() {
    CHECK(cudnnDestroyTensorDescriptor(x));
    CHECK(cudnnDestroyTensorDescriptor(y));
    CHECK(cudnnDestroyTensorDescriptor(bias));
    CHECK(cudnnDestroyFilterDescriptor(w));
    CHECK(cudnnDestroyConvolutionDescriptor(convolution));
  }
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  cudnnStatus_t forward(cudnnConvolutionFwdAlgo_t algo, std::size_t workspace = kDataBytes) const {
    const float one = 1, zero = 0;
    return cudnnConvolutionForward(handle, &one, x, data, w, data, convolution, algo, data,
                                   workspace, &zero, y, data);
  }
  cudnnStatus_t backward_data(cudnnConvolutionBwdDataAlgo_t algo) const {
    const float one = 1, zero = 0;
    return cudnnConvolutionBackwardData(handle, &one, w, data, y, data, convolution, algo, data,
                                        kDataBytes, &zero, x, data);
  }
  cudnnStatus_t backward_filter(cudnnConvolutionBwdFilterAlgo_t algo) const {
    const float one = 1, zero = 0;
    return cudnnConvolutionBackwardFilter(handle, &one, x, data, y, data, convolution, algo, data,
                                          kDataBytes, &zero, w, data);
  }

  cudnnTensorDescriptor_t x = nullptr, y = nullptr, bias = nullptr;
  cudnnFilterDescriptor_t w = nullptr;
  cudnnConvolutionDescriptor_t convolution = nullptr;
};

void descriptors() {
  const Layer layer(CUDNN_TENSOR_NHWC, CUDNN_DATA_BFLOAT16, 4);
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
  const Layer layer;
  for (int i = 0; i < CUDNN_CONVOLUTION_FWD_ALGO_COUNT; ++i) {
    const auto algo = static_cast<cudnnConvolutionFwdAlgo_t>(i);
    std::size_t bytes = 0;
    const auto status = cudnnGetConvolutionForwardWorkspaceSize(
        handle, layer.x, layer.w, layer.convolution, layer.y, algo, &bytes);
    std::printf("forward %d %s, workspace %s\n", i, cudnnGetErrorString(layer.forward(algo)),
                status != CUDNN_STATUS_SUCCESS ? "unknown"
                : bytes > 0                    ? "needed"
                                               : "none");
  }
  for (int i = 0; i < CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT; ++i) {
    std::printf(
        "data %d %s\n", i,
        cudnnGetErrorString(layer.backward_data(static_cast<cudnnConvolutionBwdDataAlgo_t>(i))));
  }
  for (int i = 0; i < CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT; ++i) {
    std::printf("filter %d %s\n", i,
                cudnnGetErrorString(
                    layer.backward_filter(static_cast<cudnnConvolutionBwdFilterAlgo_t>(i))));
  }
}

void checks() {
  const Layer layer;
  show("no room", layer.forward(CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED, 100));
  const Layer nhwc(CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF);
  show("nhwc winograd", nhwc.forward(CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD));
  show("nhwc gemm", nhwc.forward(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM));
  CHECK(cudnnSetTensor4dDescriptor(nhwc.y, CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF, 32, 128, 55, 56));
  show("wrong output", nhwc.forward(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM));
}

void choice() {
  const Layer layer;
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
  const Layer layer(CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF);
  cudnnActivationDescriptor_t relu = nullptr;
  CHECK(cudnnCreateActivationDescriptor(&relu));
  CHECK(cudnnSetActivationDescriptor(relu, CUDNN_ACTIVATION_RELU, CUDNN_NOT_PROPAGATE_NAN, 0));
  const float one = 1, zero = 0;
  CHECK(layer.forward(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM));
  CHECK(cudnnAddTensor(handle, &one, layer.bias, data, &one, layer.y, data));
  CHECK(cudnnActivationForward(handle, relu, &one, layer.y, data, &zero, layer.y, data));
  CHECK(cudnnActivationBackward(handle, relu, &one, layer.y, data, layer.y, data, layer.y, data,
                                &zero, layer.y, data));
  CHECK(cudnnConvolutionBackwardBias(handle, &one, layer.y, data, &zero, layer.bias, data));
  CHECK(layer.backward_filter(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1));
  CHECK(layer.backward_data(CUDNN_CONVOLUTION_BWD_DATA_ALGO_1));
  CHECK(cudnnConvolutionBiasActivationForward(
      handle, &one, layer.x, data, layer.w, data, layer.convolution,
      CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, data, kDataBytes, &zero, layer.y, data,
      layer.bias, data, relu, layer.y, data));
  CHECK(cudnnDestroyActivationDescriptor(relu));
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
