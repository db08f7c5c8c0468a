// Convolutions by the older functions of the simulated cuDNN; the argument names the scene.
#include "check.cuh"

#include <array>
#include <cstring>
#include <cudnn.h>

namespace {

cudnnHandle_t handle = nullptr;
void* data = nullptr;
constexpr std::size_t kDataBytes = std::size_t{1} << 29;

void show(const char* what, cudnnStatus_t status) {
  std::printf("%s %s\n", what, cudnnGetErrorString(status));
}

void must(cudnnStatus_t status) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::printf("unexpected %s\n", cudnnGetErrorString(status));
  std::exit(3);
}

// 32 images of 64 x 56 x 56, 128 filters of 3 x 3, padding 1.
struct Layer {
  explicit Layer(cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW,
                 cudnnDataType_t type = CUDNN_DATA_FLOAT, int groups = 1) {
    must(cudnnCreateTensorDescriptor(&x));
    must(cudnnCreateTensorDescriptor(&y));
    must(cudnnCreateTensorDescriptor(&bias));
    must(cudnnCreateFilterDescriptor(&w));
    must(cudnnCreateConvolutionDescriptor(&convolution));
    must(cudnnSetTensor4dDescriptor(x, format, type, 32, 64, 56, 56));
    must(cudnnSetTensor4dDescriptor(y, format, type, 32, 128, 56, 56));
    must(cudnnSetTensor4dDescriptor(bias, format, type, 1, 128, 1, 1));
    must(cudnnSetFilter4dDescriptor(w, type, format, 128, 64 / groups, 3, 3));
    must(cudnnSetConvolution2dDescriptor(convolution, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION,
                                         CUDNN_DATA_FLOAT));
    must(cudnnSetConvolutionGroupCount(convolution, groups));
  }
  ~Layer() {
    must(cudnnDestroyTensorDescriptor(x));
    must(cudnnDestroyTensorDescriptor(y));
    must(cudnnDestroyTensorDescriptor(bias));
    must(cudnnDestroyFilterDescriptor(w));
    must(cudnnDestroyConvolutionDescriptor(convolution));
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
  must(cudnnGetConvolution2dForwardOutputDim(layer.convolution, layer.x, layer.w, &n, &c, &h, &w));
  std::printf("output %d %d %d %d\n", n, c, h, w);
  cudnnDataType_t type{};
  int count = 0;
  std::array<int, CUDNN_DIM_MAX> dims{}, strides{};
  must(cudnnGetTensorNdDescriptor(layer.x, CUDNN_DIM_MAX, &type, &count, dims.data(),
                                  strides.data()));
  std::printf("%d dimensions, strides %d %d %d %d, type %d\n", count, strides[0], strides[1],
              strides[2], strides[3], type);
  cudnnTensorFormat_t format{};
  must(cudnnGetFilterNdDescriptor(layer.w, CUDNN_DIM_MAX, &type, &format, &count, dims.data()));
  std::printf("filter %d %d %d %d, format %d\n", dims[0], dims[1], dims[2], dims[3], format);
  int groups = 0;
  must(cudnnGetConvolutionGroupCount(layer.convolution, &groups));
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
  must(cudnnSetTensor4dDescriptor(nhwc.y, CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF, 32, 128, 55, 56));
  show("wrong output", nhwc.forward(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM));
}

void choice() {
  const Layer layer;
  std::array<cudnnConvolutionFwdAlgoPerf_t, 8> results{};
  int count = 0;
  must(cudnnGetConvolutionForwardAlgorithm_v7(handle, layer.x, layer.w, layer.convolution, layer.y,
                                              8, &count, results.data()));
  std::printf("heuristic: %d results, first %d, time %.0f, last %s\n", count, results[0].algo,
              static_cast<double>(results[0].time), cudnnGetErrorString(results[7].status));
  must(cudnnFindConvolutionForwardAlgorithm(handle, layer.x, layer.w, layer.convolution, layer.y, 3,
                                            &count, results.data()));
  const bool sorted = results[0].time > 0 && results[0].time <= results[1].time &&
                      results[1].time <= results[2].time;
  std::printf("measured: %d results, %s\n", count, sorted ? "sorted" : "not sorted");
}

// A forward pass with bias and activation, and back.
void block() {
  const Layer layer(CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF);
  cudnnActivationDescriptor_t relu = nullptr;
  must(cudnnCreateActivationDescriptor(&relu));
  must(cudnnSetActivationDescriptor(relu, CUDNN_ACTIVATION_RELU, CUDNN_NOT_PROPAGATE_NAN, 0));
  const float one = 1, zero = 0;
  must(layer.forward(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM));
  must(cudnnAddTensor(handle, &one, layer.bias, data, &one, layer.y, data));
  must(cudnnActivationForward(handle, relu, &one, layer.y, data, &zero, layer.y, data));
  must(cudnnActivationBackward(handle, relu, &one, layer.y, data, layer.y, data, layer.y, data,
                               &zero, layer.y, data));
  must(cudnnConvolutionBackwardBias(handle, &one, layer.y, data, &zero, layer.bias, data));
  must(layer.backward_filter(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1));
  must(layer.backward_data(CUDNN_CONVOLUTION_BWD_DATA_ALGO_1));
  must(cudnnConvolutionBiasActivationForward(
      handle, &one, layer.x, data, layer.w, data, layer.convolution,
      CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, data, kDataBytes, &zero, layer.y, data,
      layer.bias, data, relu, layer.y, data));
  must(cudnnDestroyActivationDescriptor(relu));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  if (const auto status = cudnnCreate(&handle); status != CUDNN_STATUS_SUCCESS) {
    show("create", status);
    return 1;
  }
  CHECK(cudaMalloc(&data, kDataBytes));
  const struct {
    const char* name;
    void (*play)();
  } scenes[] = {{"descriptors", descriptors},
                {"every_algorithm", every_algorithm},
                {"checks", checks},
                {"choice", choice},
                {"block", block}};
  for (const auto& scene : scenes) {
    if (std::strcmp(scene.name, argv[1]) == 0) scene.play();
  }
  CHECK(cudaDeviceSynchronize());
  must(cudnnDestroy(handle));
  return 0;
}
