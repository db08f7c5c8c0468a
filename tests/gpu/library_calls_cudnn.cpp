// Convolutions of known shapes by cuDNN, each once an iteration: by the older functions, with every
// algorithm of a forward one, and by plans of the graph interface.
#include "cudnn_layer.hpp"
#include "named_calls.hpp"

#include <cuda_runtime_api.h>

#include <memory>

namespace {

using namespace cudnn_graph;
using inline_prof::gpu_test::NamedCalls;
using inline_prof::gpu_test::NotHere;
using inline_prof::gpu_test::take_memory;

constexpr std::size_t kBytes = std::size_t{64} << 20;  // of each tensor
constexpr std::size_t kWorkspaceBytes = std::size_t{512} << 20;

struct Memory : LayerMemory {
  Memory()
      : LayerMemory{take_memory(kBytes), take_memory(kBytes), take_memory(kBytes),
                    take_memory(kWorkspaceBytes), kWorkspaceBytes} {}
  void* bias = take_memory(kBytes);
};

void expect_room(std::size_t bytes) {
  if (bytes > kWorkspaceBytes) {
    throw NotHere("its workspace is " + std::to_string(bytes >> 20U) + " MiB");
  }
}

// --- the older functions

// Returns the algorithm that cuDNN's heuristic puts first; `ask` is its function of a direction.
template <typename Found, typename Ask>
auto first_algorithm(const Ask& ask) {
  Found best{};
  int count = 0;
  accept(ask(1, &count, &best), "the heuristic of algorithms");
  accept(best.status, "the heuristic's first algorithm");
  expect_room(best.memory);
  return best.algo;
}

NamedCalls::Call forward(cudnnHandle_t handle, const Memory& memory, const LayerShape& shape) {
  const auto layer = std::make_shared<const Layer>(shape);
  const auto algo = first_algorithm<cudnnConvolutionFwdAlgoPerf_t>([&](auto... found) {
    return cudnnGetConvolutionForwardAlgorithm_v7(handle, layer->x, layer->w, layer->convolution,
                                                  layer->y, found...);
  });
  return [=] { accept(layer->forward(handle, memory, algo), "cudnnConvolutionForward"); };
}

NamedCalls::Call forward_by(cudnnHandle_t handle, const Memory& memory, const LayerShape& shape,
                            cudnnConvolutionFwdAlgo_t algo) {
  const auto layer = std::make_shared<const Layer>(shape);
  std::size_t bytes = 0;
  if (cudnnGetConvolutionForwardWorkspaceSize(handle, layer->x, layer->w, layer->convolution,
                                              layer->y, algo, &bytes) != CUDNN_STATUS_SUCCESS) {
    throw NotHere("cuDNN has no such algorithm for it");
  }
  expect_room(bytes);
  return [=] { accept(layer->forward(handle, memory, algo), "cudnnConvolutionForward"); };
}

NamedCalls::Call backward_data(cudnnHandle_t handle, const Memory& memory,
                               const LayerShape& shape) {
  const auto layer = std::make_shared<const Layer>(shape);
  const auto algo = first_algorithm<cudnnConvolutionBwdDataAlgoPerf_t>([&](auto... found) {
    return cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, layer->w, layer->y,
                                                       layer->convolution, layer->x, found...);
  });
  return
      [=] { accept(layer->backward_data(handle, memory, algo), "cudnnConvolutionBackwardData"); };
}

NamedCalls::Call backward_filter(cudnnHandle_t handle, const Memory& memory,
                                 const LayerShape& shape) {
  const auto layer = std::make_shared<const Layer>(shape);
  const auto algo = first_algorithm<cudnnConvolutionBwdFilterAlgoPerf_t>([&](auto... found) {
    return cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, layer->x, layer->y,
                                                         layer->convolution, layer->w, found...);
  });
  return [=] {
    accept(layer->backward_filter(handle, memory, algo), "cudnnConvolutionBackwardFilter");
  };
}

void add_older_calls(NamedCalls& calls, cudnnHandle_t handle, const Memory& memory) {
  const LayerShape plain{
      .n = 4, .c = 8, .h = 20, .w = 30, .k = 16, .r = 3, .s = 5, .p = 18, .q = 26};
  const LayerShape strided{.n = 4,
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
  const LayerShape square{
      .n = 8, .c = 32, .h = 28, .w = 28, .k = 64, .r = 3, .s = 3, .p = 28, .q = 28, .pad = 1};
  for (int algorithm = 0; algorithm < CUDNN_CONVOLUTION_FWD_ALGO_COUNT; ++algorithm) {
    if (algorithm == CUDNN_CONVOLUTION_FWD_ALGO_DIRECT) continue;  // cudnn_cnn.h: not implemented
    calls.add("forward by algorithm " + std::to_string(algorithm), [&] {
      return forward_by(handle, memory, square, static_cast<cudnnConvolutionFwdAlgo_t>(algorithm));
    });
  }
}

// --- the graph interface

NamedCalls::Call execution(cudnnHandle_t handle, const Memory& memory, const std::string& name,
                           const Descriptor& graph, bool is_fused = false) {
  const auto plan = std::make_shared<Descriptor>(plan_of(handle, graph));
  expect_room(static_cast<std::size_t>(plan->integer_of(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)));
  const Descriptor configuration =
      plan->read(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  const Descriptor engine =
      configuration.read(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  std::printf("about %s: engine %d\n", name.c_str(),
              static_cast<int>(engine.integer_of(CUDNN_ATTR_ENGINE_GLOBAL_INDEX)));
  const auto pack = std::make_shared<Descriptor>(
      is_fused ? pack_of({'x', 'w', 'b', 'z'}, {memory.x, memory.w, memory.bias, memory.y},
                         memory.workspace)
               : pack_of({'x', 'w', 'y'}, {memory.x, memory.w, memory.y}, memory.workspace));
  return
      [=] { accept(cudnnBackendExecute(handle, plan->raw(), pack->raw()), "cudnnBackendExecute"); };
}

void add_graph_calls(NamedCalls& calls, cudnnHandle_t handle, const Memory& memory) {
  const auto add = [&](const std::string& name, const Direction& direction, const Shape& shape) {
    calls.add(name, [&] {
      const Descriptor operation = convolution(direction, shape);
      return execution(handle, memory, name, graph_of(handle, {&operation}));
    });
  };
  for (const Direction& direction : kDirections)
    add(std::string("graph ") + direction.name, direction, Shape{});
  add("graph forward in groups", kDirections[0], {.height = 14, .width = 24, .groups = 2});
  const std::string fused = "graph forward with bias and relu";
  calls.add(fused, [&] {
    return execution(handle, memory, fused,
                     fused_graph(handle, {.height = 32, .width = 40, .filters = 96}), true);
  });
}

}  // namespace

int main(int argc, char** argv) {
  return inline_prof::gpu_test::make_calls(argc, argv, [](NamedCalls& calls, cudaStream_t stream) {
    cudnnHandle_t handle = nullptr;
    accept(cudnnCreate(&handle), "cudnnCreate");
    accept(cudnnSetStream(handle, stream), "cudnnSetStream");
    const Memory memory;
    add_older_calls(calls, handle, memory);
    add_graph_calls(calls, handle, memory);
  });
}
