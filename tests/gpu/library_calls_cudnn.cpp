// Convolutions of known shapes by cuDNN, each once an iteration: by the older functions, with every
// algorithm of a forward one, and by plans of the graph interface.
#include "cudnn_graph.hpp"
#include "gpu_check.hpp"
#include "named_calls.hpp"

#include <inline_prof/profile.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cudnn.h>
#include <memory>

namespace {

using inline_prof::gpu_test::accept;
using inline_prof::gpu_test::check;
using inline_prof::gpu_test::Descriptor;
using inline_prof::gpu_test::Direction;
using inline_prof::gpu_test::GraphShape;
using inline_prof::gpu_test::kDirections;
using inline_prof::gpu_test::NamedCalls;
using inline_prof::gpu_test::NotHere;
using inline_prof::gpu_test::take_memory;

constexpr int kIterations = 45;
constexpr std::size_t kBytes = std::size_t{64} << 20;  // of each tensor
constexpr std::size_t kWorkspaceBytes = std::size_t{512} << 20;
const float kOne = 1.0F;
const float kZero = 0.0F;

struct Memory {
  void* x = take_memory(kBytes);
  void* w = take_memory(kBytes);
  void* y = take_memory(kBytes);
  void* bias = take_memory(kBytes);
  void* workspace = take_memory(kWorkspaceBytes);
};

void expect_room(std::size_t bytes) {
  if (bytes > kWorkspaceBytes) {
    throw NotHere("its workspace is " + std::to_string(bytes >> 20U) + " MiB");
  }
}

// --- the older functions

struct Shape {
  int n, c, h, w, k, r, s, p, q;
  int groups = 1;
  int stride_h = 1;
  int stride_w = 1;
  int pad = 0;
  cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
};

// Its descriptors live as long as the process.
struct Layer {
  explicit Layer(const Shape& shape) {
    accept(cudnnCreateTensorDescriptor(&x), "cudnnCreateTensorDescriptor");
    accept(cudnnCreateTensorDescriptor(&y), "cudnnCreateTensorDescriptor");
    accept(cudnnCreateFilterDescriptor(&w), "cudnnCreateFilterDescriptor");
    accept(cudnnCreateConvolutionDescriptor(&how), "cudnnCreateConvolutionDescriptor");
    accept(
        cudnnSetTensor4dDescriptor(x, shape.format, shape.type, shape.n, shape.c, shape.h, shape.w),
        "cudnnSetTensor4dDescriptor");
    accept(
        cudnnSetTensor4dDescriptor(y, shape.format, shape.type, shape.n, shape.k, shape.p, shape.q),
        "cudnnSetTensor4dDescriptor");
    accept(cudnnSetFilter4dDescriptor(w, shape.type, shape.format, shape.k, shape.c / shape.groups,
                                      shape.r, shape.s),
           "cudnnSetFilter4dDescriptor");
    accept(
        cudnnSetConvolution2dDescriptor(how, shape.pad, shape.pad, shape.stride_h, shape.stride_w,
                                        1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
        "cudnnSetConvolution2dDescriptor");
    accept(cudnnSetConvolutionGroupCount(how, shape.groups), "cudnnSetConvolutionGroupCount");
  }

  cudnnTensorDescriptor_t x = nullptr;
  cudnnTensorDescriptor_t y = nullptr;
  cudnnFilterDescriptor_t w = nullptr;
  cudnnConvolutionDescriptor_t how = nullptr;
};

// Returns a forward call by the given algorithm, or by the heuristic's first one.
NamedCalls::Call forward(cudnnHandle_t handle, const Memory& memory, const Shape& shape,
                         int algorithm = -1) {
  const Layer layer(shape);
  auto chosen = static_cast<cudnnConvolutionFwdAlgo_t>(algorithm);
  if (algorithm < 0) {
    cudnnConvolutionFwdAlgoPerf_t best{};
    int count = 0;
    accept(cudnnGetConvolutionForwardAlgorithm_v7(handle, layer.x, layer.w, layer.how, layer.y, 1,
                                                  &count, &best),
           "cudnnGetConvolutionForwardAlgorithm_v7");
    accept(best.status, "the heuristic's first algorithm");
    chosen = best.algo;
  }
  std::size_t bytes = 0;
  const cudnnStatus_t status = cudnnGetConvolutionForwardWorkspaceSize(
      handle, layer.x, layer.w, layer.how, layer.y, chosen, &bytes);
  if (status != CUDNN_STATUS_SUCCESS && algorithm >= 0) {
    throw NotHere("cuDNN has no such algorithm for it");
  }
  accept(status, "cudnnGetConvolutionForwardWorkspaceSize");
  expect_room(bytes);
  return [=] {
    accept(cudnnConvolutionForward(handle, &kOne, layer.x, memory.x, layer.w, memory.w, layer.how,
                                   chosen, memory.workspace, kWorkspaceBytes, &kZero, layer.y,
                                   memory.y),
           "cudnnConvolutionForward");
  };
}

NamedCalls::Call backward_data(cudnnHandle_t handle, const Memory& memory, const Shape& shape) {
  const Layer layer(shape);
  cudnnConvolutionBwdDataAlgoPerf_t best{};
  int count = 0;
  accept(cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, layer.w, layer.y, layer.how, layer.x,
                                                     1, &count, &best),
         "cudnnGetConvolutionBackwardDataAlgorithm_v7");
  accept(best.status, "the heuristic's first algorithm");
  expect_room(best.memory);
  return [=] {
    accept(cudnnConvolutionBackwardData(handle, &kOne, layer.w, memory.w, layer.y, memory.y,
                                        layer.how, best.algo, memory.workspace, kWorkspaceBytes,
                                        &kZero, layer.x, memory.x),
           "cudnnConvolutionBackwardData");
  };
}

NamedCalls::Call backward_filter(cudnnHandle_t handle, const Memory& memory, const Shape& shape) {
  const Layer layer(shape);
  cudnnConvolutionBwdFilterAlgoPerf_t best{};
  int count = 0;
  accept(cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, layer.x, layer.y, layer.how, layer.w,
                                                       1, &count, &best),
         "cudnnGetConvolutionBackwardFilterAlgorithm_v7");
  accept(best.status, "the heuristic's first algorithm");
  expect_room(best.memory);
  return [=] {
    accept(cudnnConvolutionBackwardFilter(handle, &kOne, layer.x, memory.x, layer.y, memory.y,
                                          layer.how, best.algo, memory.workspace, kWorkspaceBytes,
                                          &kZero, layer.w, memory.w),
           "cudnnConvolutionBackwardFilter");
  };
}

void add_older_calls(NamedCalls& calls, cudnnHandle_t handle, const Memory& memory) {
  const Shape plain{.n = 4, .c = 8, .h = 20, .w = 30, .k = 16, .r = 3, .s = 5, .p = 18, .q = 26};
  const Shape strided{.n = 4,
                      .c = 32,
                      .h = 20,
                      .w = 30,
                      .k = 64,
                      .r = 3,
                      .s = 3,
                      .p = 10,
                      .q = 30,
                      .groups = 2,
                      .stride_h = 2,
                      .stride_w = 1,
                      .pad = 1,
                      .format = CUDNN_TENSOR_NHWC,
                      .type = CUDNN_DATA_HALF};
  calls.add("forward", [&] { return forward(handle, memory, plain); });
  calls.add("forward of f16 by channels, strided, in groups",
            [&] { return forward(handle, memory, strided); });
  calls.add("backward data", [&] { return backward_data(handle, memory, plain); });
  calls.add("backward filter", [&] { return backward_filter(handle, memory, plain); });
  const Shape square{
      .n = 8, .c = 32, .h = 28, .w = 28, .k = 64, .r = 3, .s = 3, .p = 28, .q = 28, .pad = 1};
  for (int algorithm = 0; algorithm < CUDNN_CONVOLUTION_FWD_ALGO_COUNT; ++algorithm) {
    if (algorithm == CUDNN_CONVOLUTION_FWD_ALGO_DIRECT) continue;  // cudnn_cnn.h: not implemented
    calls.add("forward by algorithm " + std::to_string(algorithm),
              [&] { return forward(handle, memory, square, algorithm); });
  }
}

// --- the graph interface

Descriptor pack_of(const Memory& memory, bool is_fused) {
  std::vector<std::int64_t> ids{'x', 'w', 'y'};
  std::vector<void*> pointers{memory.x, memory.w, memory.y};
  if (is_fused) {
    ids = {'x', 'w', 'b', 'z'};
    pointers = {memory.x, memory.w, memory.bias, memory.y};
  }
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.integers(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids)
      .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, pointers)
      .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR,
           std::vector<void*>{memory.workspace})
      .finalize("a variant pack");
  return pack;
}

NamedCalls::Call execution(cudnnHandle_t handle, const Memory& memory, const std::string& name,
                           const Descriptor& graph, bool is_fused) {
  const auto plan = std::make_shared<Descriptor>(inline_prof::gpu_test::graph_plan(handle, graph));
  expect_room(static_cast<std::size_t>(plan->integer_of(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)));
  const Descriptor configuration =
      plan->read(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  const Descriptor engine =
      configuration.read(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  std::printf("about %s: engine %d\n", name.c_str(),
              static_cast<int>(engine.integer_of(CUDNN_ATTR_ENGINE_GLOBAL_INDEX)));
  const auto pack = std::make_shared<Descriptor>(pack_of(memory, is_fused));
  return
      [=] { accept(cudnnBackendExecute(handle, plan->raw(), pack->raw()), "cudnnBackendExecute"); };
}

NamedCalls::Call graph_call(cudnnHandle_t handle, const Memory& memory, const std::string& name,
                            const Direction& direction, const GraphShape& shape) {
  const Descriptor operation = inline_prof::gpu_test::graph_convolution(direction, shape);
  const Descriptor graph = inline_prof::gpu_test::graph_of(handle, {&operation});
  return execution(handle, memory, name, graph, false);
}

Descriptor pointwise(cudnnPointwiseMode_t mode) {
  Descriptor made(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  made.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE,
           std::vector<cudnnPointwiseMode_t>{mode})
      .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE,
           std::vector<cudnnDataType_t>{CUDNN_DATA_FLOAT})
      .finalize("a pointwise descriptor");
  return made;
}

// Returns z = relu(convolution of x + b); the results between have no memory.
NamedCalls::Call fused_call(cudnnHandle_t handle, const Memory& memory, const std::string& name,
                            const GraphShape& shape) {
  using inline_prof::gpu_test::graph_tensor;
  const inline_prof::gpu_test::Integers sizes{shape.images, shape.filters, shape.height,
                                              shape.width};
  const Direction& direction = kDirections[0];
  const Descriptor convolution = inline_prof::gpu_test::graph_convolution(direction, shape, true);
  // The same tensor again: a graph knows them by their numbers.
  const Descriptor y = graph_tensor('y', sizes, true);
  const Descriptor bias = graph_tensor('b', {1, shape.filters, 1, 1});
  const Descriptor sum = graph_tensor('s', sizes, true);
  const Descriptor z = graph_tensor('z', sizes);
  Descriptor add(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  add.child(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise(CUDNN_POINTWISE_ADD))
      .child(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, y)
      .child(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, bias)
      .child(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, sum)
      .finalize("a sum");
  Descriptor relu(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  relu.child(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise(CUDNN_POINTWISE_RELU_FWD))
      .child(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, sum)
      .child(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, z)
      .finalize("a relu");
  const Descriptor graph = inline_prof::gpu_test::graph_of(handle, {&convolution, &add, &relu});
  return execution(handle, memory, name, graph, true);
}

void add_graph_calls(NamedCalls& calls, cudnnHandle_t handle, const Memory& memory) {
  for (const Direction& direction : kDirections) {
    const std::string name = std::string("graph ") + direction.name;
    calls.add(name, [&] { return graph_call(handle, memory, name, direction, GraphShape{}); });
  }
  const GraphShape grouped{.height = 14, .width = 24, .groups = 2};
  calls.add("graph forward in groups", [&] {
    return graph_call(handle, memory, "graph forward in groups", kDirections[0], grouped);
  });
  const GraphShape fused{.height = 32, .width = 40, .filters = 96};
  calls.add("graph forward with bias and relu",
            [&] { return fused_call(handle, memory, "graph forward with bias and relu", fused); });
}

}  // namespace

int main(int argc, char** argv) {
  inline_prof::gpu_test::skip_without_gpu();
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  cudnnHandle_t handle = nullptr;
  try {
    accept(cudnnCreate(&handle), "cudnnCreate");
    accept(cudnnSetStream(handle, stream), "cudnnSetStream");
  } catch (const inline_prof::gpu_test::Refused& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  const Memory memory;
  NamedCalls calls(argc, argv);
  add_older_calls(calls, handle, memory);
  add_graph_calls(calls, handle, memory);
  check(cudaDeviceSynchronize(), "the first calls");
  const bool is_good = calls.make_all(kIterations, [] { PROFILE_ITERATION(); });
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  return is_good ? 0 : 1;
}
