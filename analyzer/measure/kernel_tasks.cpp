#include "measure/gpu.hpp"
#include "measure/kernels.hpp"
#include "measure/tasks.hpp"

#include <cuda.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace inline_prof::measure {
namespace {

// Multiplies sizes.  Throws Skipped for an absurd size, which would wrap around.
std::size_t product(std::initializer_list<std::int64_t> sides) {
  double all = 1;
  std::size_t result = 1;
  for (const std::int64_t side : sides) {
    all *= static_cast<double>(side);
    result *= static_cast<std::size_t>(side);
  }
  if (all > 1e15) throw Skipped(fmt::format("{:.0e} elements are more than any GPU holds", all));
  return result;
}

std::size_t bytes(const read::Op& op, std::string_view name) {
  return static_cast<std::size_t>(std::max(0.0, number_or(op, name, 0)));
}

void* take_bytes(Gpu& gpu, std::size_t count, std::uint64_t seed) {
  void* memory = gpu.take(std::max<std::size_t>(count, 16));
  launch_fill_normal(gpu.stream(), memory, count / 2, Element::kBf16, seed);
  return memory;
}

Work own_kernel(std::function<void(cudaStream_t)> run, bool stand_in = false) {
  return {.run = std::move(run), .library = {}, .stand_in = stand_in};
}

// Moves as many bytes as a kernel of the run, of which nothing else is known.
Work moving_work(Gpu& gpu, std::size_t read_bytes, std::size_t write_bytes) {
  void* from = take_bytes(gpu, read_bytes, 1);
  void* to = gpu.take(std::max<std::size_t>(write_bytes, 16));
  return own_kernel([=](cudaStream_t s) { launch_move(s, from, read_bytes, to, write_bytes); },
                    true);
}

}  // namespace

Element element_of(std::string_view type) {
  if (type == "f32" || type == "tf32") return Element::kF32;
  if (type == "f16") return Element::kF16;
  if (type == "bf16") return Element::kBf16;
  if (type == "f8e4m3") return Element::kF8e4m3;
  throw Skipped(fmt::format("type {} is not measured", type));
}

std::size_t bytes_of(Element element) {
  if (element == Element::kF32) return 4;
  return element == Element::kF8e4m3 ? 1 : 2;
}

void* take_normal(Gpu& gpu, std::int64_t count, std::string_view type, std::uint64_t seed) {
  const Element element = element_of(type);
  void* memory = gpu.take(product({count}) * bytes_of(element));
  launch_fill_normal(gpu.stream(), memory, static_cast<std::size_t>(count), element, seed);
  return memory;
}

namespace {

struct Cast {
  std::string_view kernel;
  Element from, to;
};
constexpr std::array kCasts{Cast{"cast_f32_bf16", Element::kF32, Element::kBf16},
                            Cast{"cast_bf16_f32", Element::kBf16, Element::kF32},
                            Cast{"cast_bf16_f8e4m3", Element::kBf16, Element::kF8e4m3}};

}  // namespace

Work memory_work(const read::Op& op, Gpu& gpu) {
  const std::size_t read_bytes = bytes(op, "read_bytes");
  const std::size_t write_bytes = bytes(op, "write_bytes");
  if (read_bytes + write_bytes < 16) throw Skipped("nothing is read or written");
  const std::string kernel = text_or(op, "kernel", "");
  if (kernel.empty()) return moving_work(gpu, read_bytes, write_bytes);
  if (kernel == "scale") {
    auto* values = static_cast<float*>(take_bytes(gpu, read_bytes, 1));
    return own_kernel([=](cudaStream_t s) { launch_scale(s, values, 1.0001F, read_bytes / 4); });
  }
  if (kernel == "add") {
    auto* a = static_cast<float*>(take_bytes(gpu, read_bytes / 2, 1));
    auto* b = static_cast<float*>(take_bytes(gpu, read_bytes / 2, 2));
    auto* sum = static_cast<float*>(gpu.take(write_bytes));
    return own_kernel([=](cudaStream_t s) { launch_add(s, a, b, sum, write_bytes / 4); });
  }
  void* from = take_bytes(gpu, read_bytes, 1);
  void* to = gpu.take(std::max<std::size_t>(write_bytes, 16));
  if (kernel == "copy")
    return own_kernel([=](cudaStream_t s) { launch_copy(s, from, to, read_bytes); });
  if (kernel == "write")
    return own_kernel([=](cudaStream_t s) { launch_write(s, to, write_bytes); });
  if (kernel == "read")
    return own_kernel([=](cudaStream_t s) { launch_read(s, from, to, read_bytes); });
  for (const Cast& cast : kCasts) {
    if (kernel != cast.kernel) continue;
    return own_kernel([=](cudaStream_t s) {
      launch_cast(s, from, cast.from, to, cast.to, read_bytes / bytes_of(cast.from));
    });
  }
  throw Skipped(fmt::format("no kernel is called {}", kernel));
}

Work rows_work(const read::Op& op, Gpu& gpu) {
  const Element element = element_of(text_or(op, "type", "f32"));
  const std::size_t tensor =
      product({integer(op, "rows"), integer(op, "cols")}) * bytes_of(element);
  const bool is_forward = text_or(op, "pass", "forward") == "forward";
  return moving_work(gpu, is_forward ? tensor : 2 * tensor, tensor);
}

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
