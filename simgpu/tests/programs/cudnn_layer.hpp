// A convolution by cuDNN's older functions, for test programs on the simulated and on the vendor's
// library.
#pragma once

#include "cudnn_graph.hpp"

#include <cstddef>
#include <cudnn.h>

namespace cudnn_graph {

struct LayerShape {
  int n, c, h, w, k, r, s, p, q;
  int groups = 1;
  int stride_h = 1;
  int stride_w = 1;
  int pad = 0;
  cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
};

struct LayerMemory {
  void* x = nullptr;
  void* w = nullptr;
  void* y = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
};

struct Layer {
  explicit Layer(const LayerShape& s) {
    accept(cudnnCreateTensorDescriptor(&x), "cudnnCreateTensorDescriptor");
    accept(cudnnCreateTensorDescriptor(&y), "cudnnCreateTensorDescriptor");
    accept(cudnnCreateFilterDescriptor(&w), "cudnnCreateFilterDescriptor");
    accept(cudnnCreateConvolutionDescriptor(&convolution), "cudnnCreateConvolutionDescriptor");
    accept(cudnnSetTensor4dDescriptor(x, s.format, s.type, s.n, s.c, s.h, s.w),
           "cudnnSetTensor4dDescriptor");
    accept(cudnnSetTensor4dDescriptor(y, s.format, s.type, s.n, s.k, s.p, s.q),
           "cudnnSetTensor4dDescriptor");
    accept(cudnnSetFilter4dDescriptor(w, s.type, s.format, s.k, s.c / s.groups, s.r, s.s),
           "cudnnSetFilter4dDescriptor");
    accept(cudnnSetConvolution2dDescriptor(convolution, s.pad, s.pad, s.stride_h, s.stride_w, 1, 1,
                                           CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
           "cudnnSetConvolution2dDescriptor");
    accept(cudnnSetConvolutionGroupCount(convolution, s.groups), "cudnnSetConvolutionGroupCount");
  }
  ~Layer() {
    static_cast<void>(cudnnDestroyTensorDescriptor(x));
    static_cast<void>(cudnnDestroyTensorDescriptor(y));
    static_cast<void>(cudnnDestroyFilterDescriptor(w));
    static_cast<void>(cudnnDestroyConvolutionDescriptor(convolution));
  }
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  [[nodiscard]] cudnnStatus_t forward(cudnnHandle_t handle, const LayerMemory& memory,
                                      cudnnConvolutionFwdAlgo_t algo) const {
    return cudnnConvolutionForward(handle, &kOne, x, memory.x, w, memory.w, convolution, algo,
                                   memory.workspace, memory.workspace_bytes, &kZero, y, memory.y);
  }
  [[nodiscard]] cudnnStatus_t backward_data(cudnnHandle_t handle, const LayerMemory& memory,
                                            cudnnConvolutionBwdDataAlgo_t algo) const {
    return cudnnConvolutionBackwardData(handle, &kOne, w, memory.w, y, memory.y, convolution, algo,
                                        memory.workspace, memory.workspace_bytes, &kZero, x,
                                        memory.x);
  }
  [[nodiscard]] cudnnStatus_t backward_filter(cudnnHandle_t handle, const LayerMemory& memory,
                                              cudnnConvolutionBwdFilterAlgo_t algo) const {
    return cudnnConvolutionBackwardFilter(handle, &kOne, x, memory.x, y, memory.y, convolution,
                                          algo, memory.workspace, memory.workspace_bytes, &kZero, w,
                                          memory.w);
  }

  cudnnTensorDescriptor_t x = nullptr;
  cudnnTensorDescriptor_t y = nullptr;
  cudnnFilterDescriptor_t w = nullptr;
  cudnnConvolutionDescriptor_t convolution = nullptr;

 private:
  static constexpr float kOne = 1;
  static constexpr float kZero = 0;
};

}  // namespace cudnn_graph
