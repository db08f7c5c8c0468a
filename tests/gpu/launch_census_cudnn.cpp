// An application that launches through cuDNN only; see launch_census.cu.  Convolutions of several
// sizes in all three directions, by the algorithm that the heuristic puts first.
#include "gpu_check.hpp"

#include <inline_prof/profile.hpp>

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cudnn.h>

namespace {

using inline_prof::gpu_test::check;

constexpr int kIterations = 10;
constexpr int kImages = 4;
constexpr int kChannels[] = {8, 32, 64};
constexpr int kSide = 32;
constexpr std::size_t kBytes = std::size_t{64} << 20;
constexpr float kOne = 1.0F;
constexpr float kZero = 0.0F;

void check_dnn(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::fprintf(stderr, "%s: %s\n", what, cudnnGetErrorString(status));
  std::exit(1);
}

void* take_memory() {
  void* memory = nullptr;
  check(cudaMalloc(&memory, kBytes), "cudaMalloc");
  check(cudaMemset(memory, 0, kBytes), "cudaMemset");
  return memory;
}

struct Memory {
  void* input = take_memory();
  void* filter = take_memory();
  void* output = take_memory();
  void* workspace = take_memory();
};

void convolve(cudnnHandle_t handle, const Memory& memory, int channels) {
  cudnnTensorDescriptor_t tensor = nullptr;
  cudnnFilterDescriptor_t filter = nullptr;
  cudnnConvolutionDescriptor_t convolution = nullptr;
  check_dnn(cudnnCreateTensorDescriptor(&tensor), "cudnnCreateTensorDescriptor");
  check_dnn(cudnnCreateFilterDescriptor(&filter), "cudnnCreateFilterDescriptor");
  check_dnn(cudnnCreateConvolutionDescriptor(&convolution), "cudnnCreateConvolutionDescriptor");
  check_dnn(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, kImages,
                                       channels, kSide, kSide),
            "cudnnSetTensor4dDescriptor");
  check_dnn(cudnnSetFilter4dDescriptor(filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, channels,
                                       channels, 3, 3),
            "cudnnSetFilter4dDescriptor");
  check_dnn(cudnnSetConvolution2dDescriptor(convolution, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION,
                                            CUDNN_DATA_FLOAT),
            "cudnnSetConvolution2dDescriptor");
  int count = 0;
  cudnnConvolutionFwdAlgoPerf_t forward{};
  cudnnConvolutionBwdDataAlgoPerf_t data{};
  cudnnConvolutionBwdFilterAlgoPerf_t weights{};
  check_dnn(cudnnGetConvolutionForwardAlgorithm_v7(handle, tensor, filter, convolution, tensor, 1,
                                                   &count, &forward),
            "forward algorithm");
  check_dnn(cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, filter, tensor, convolution, tensor,
                                                        1, &count, &data),
            "backward data algorithm");
  check_dnn(cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, tensor, tensor, convolution,
                                                          filter, 1, &count, &weights),
            "backward filter algorithm");
  for (int i = 0; i < kIterations; ++i) {
    PROFILE_ITERATION();
    check_dnn(cudnnConvolutionForward(handle, &kOne, tensor, memory.input, filter, memory.filter,
                                      convolution, forward.algo, memory.workspace, kBytes, &kZero,
                                      tensor, memory.output),
              "cudnnConvolutionForward");
    check_dnn(cudnnConvolutionBackwardData(handle, &kOne, filter, memory.filter, tensor,
                                           memory.output, convolution, data.algo, memory.workspace,
                                           kBytes, &kZero, tensor, memory.input),
              "cudnnConvolutionBackwardData");
    check_dnn(cudnnConvolutionBackwardFilter(
                  handle, &kOne, tensor, memory.input, tensor, memory.output, convolution,
                  weights.algo, memory.workspace, kBytes, &kZero, filter, memory.filter),
              "cudnnConvolutionBackwardFilter");
  }
  check_dnn(cudnnDestroyConvolutionDescriptor(convolution), "cudnnDestroyConvolutionDescriptor");
  check_dnn(cudnnDestroyFilterDescriptor(filter), "cudnnDestroyFilterDescriptor");
  check_dnn(cudnnDestroyTensorDescriptor(tensor), "cudnnDestroyTensorDescriptor");
}

}  // namespace

int main() {
  inline_prof::gpu_test::skip_without_gpu();
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  cudnnHandle_t handle = nullptr;
  check_dnn(cudnnCreate(&handle), "cudnnCreate");
  check_dnn(cudnnSetStream(handle, stream), "cudnnSetStream");
  const Memory memory;
  for (const int channels : kChannels)
    convolve(handle, memory, channels);
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  check_dnn(cudnnDestroy(handle), "cudnnDestroy");
  return 0;
}
