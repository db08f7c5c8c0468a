#include "measure/gpu.hpp"

#include <cuda.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace inline_prof::measure {
namespace {

struct GraphFunctions {
  DynamicLibrary library{"libcuda.so.1"};
  decltype(&cuGraphGetNodes) nodes = library.find("cuGraphGetNodes");
  decltype(&cuGraphNodeGetType) type = library.find("cuGraphNodeGetType");
  decltype(&cuGraphKernelNodeGetParams) kernel = library.find("cuGraphKernelNodeGetParams_v2");
  decltype(&cuFuncGetName) function_name = library.find("cuFuncGetName");
  decltype(&cuKernelGetName) kernel_name = library.find("cuKernelGetName");

  [[nodiscard]] std::vector<LaunchedKernel> kernels_of(CUgraph graph) const {
    std::size_t count = 0;
    if (nodes(graph, nullptr, &count) != CUDA_SUCCESS) return {};
    std::vector<CUgraphNode> all(count);
    if (nodes(graph, all.data(), &count) != CUDA_SUCCESS) return {};
    std::vector<LaunchedKernel> found;
    for (const CUgraphNode node : all) {
      CUgraphNodeType node_type{};
      CUDA_KERNEL_NODE_PARAMS launch{};
      if (type(node, &node_type) != CUDA_SUCCESS || node_type != CU_GRAPH_NODE_TYPE_KERNEL ||
          kernel(node, &launch) != CUDA_SUCCESS) {
        continue;
      }
      const char* name = nullptr;
      const CUresult result = launch.func != nullptr ? function_name(&name, launch.func)
                                                     : kernel_name(&name, launch.kern);
      found.push_back(
          {.name = result == CUDA_SUCCESS && name != nullptr ? name : "",
           .blocks = std::int64_t{launch.gridDimX} * launch.gridDimY * launch.gridDimZ});
    }
    return found;
  }
};

}  // namespace

std::vector<LaunchedKernel> launched_kernels(const Work& work, const Gpu& gpu) {
  cudaGraph_t graph = nullptr;
  std::vector<LaunchedKernel> kernels;
  try {
    const GraphFunctions functions;
    check(cudaStreamBeginCapture(gpu.stream(), cudaStreamCaptureModeThreadLocal), "begin capture");
    try {
      work.run(gpu.stream());
    } catch (const std::runtime_error&) {
      // The capture must be ended below.
    }
    if (cudaStreamEndCapture(gpu.stream(), &graph) == cudaSuccess && graph != nullptr)
      kernels = functions.kernels_of(graph);
  } catch (const std::runtime_error&) {
    kernels.clear();  // names are a help, not a must
  }
  if (graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
  static_cast<void>(cudaGetLastError());
  return kernels;
}

const LaunchedKernel* main_kernel(const std::vector<LaunchedKernel>& kernels) {
  constexpr std::array<std::string_view, 9> words{"gemm",     "conv",  "fprop", "dgrad", "wgrad",
                                                  "winograd", "nvjet", "sdpa",  "flash"};
  const auto multiplies = [&](const LaunchedKernel& kernel) {
    return std::ranges::any_of(
        words, [&](std::string_view word) { return kernel.name.find(word) != std::string::npos; });
  };
  const auto found = std::ranges::find_if(kernels, multiplies);
  if (found != kernels.end()) return &*found;
  return kernels.empty() ? nullptr : &kernels.front();
}

}  // namespace inline_prof::measure
