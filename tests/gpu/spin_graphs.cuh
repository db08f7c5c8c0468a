// Graphs of kernels of known length, and clones of them with a pair of events around one node.  The
// graphs are made by the driver's functions, the ones that the injected library uses.
#pragma once

#include "spin_kernels.cuh"

#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace inline_prof::gpu_test {

inline void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* text = "unknown";
  static_cast<void>(cuGetErrorString(result, &text));
  std::fprintf(stderr, "%s: %s\n", what, text);
  std::exit(1);
}

// One kernel a length, so that the model of a rehearsal can tell them apart.
template <int kLengthUs>
__global__ void spin_for(std::int64_t cycles, KernelTimes* times) {
  spin_and_note(cycles, times);
}

using SpinKernel = void (*)(std::int64_t, KernelTimes*);
struct SpinLength {
  int us;
  SpinKernel kernel;
};
inline constexpr std::size_t kSpinLengths = 9;
inline std::array<SpinLength, kSpinLengths> spin_lengths() {
  return {{{2, spin_for<2>},
           {5, spin_for<5>},
           {10, spin_for<10>},
           {20, spin_for<20>},
           {50, spin_for<50>},
           {100, spin_for<100>},
           {200, spin_for<200>},
           {500, spin_for<500>},
           {1000, spin_for<1000>}}};
}

using Nodes = std::vector<CUgraphNode>;

class SpinGraphs {
 public:
  SpinGraphs() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaMalloc(&times_, sizeof *times_), "cudaMalloc");
    cycles_per_us_ = cycles_per_us_when_warm(stream_);
    const auto lengths = spin_lengths();
    for (std::size_t i = 0; i < lengths.size(); ++i)
      parameters_[i] = parameters_of(lengths[i]);
  }

  [[nodiscard]] CUstream stream() const { return stream_; }

  // A node of `length` (a place in spin_lengths()) behind `after`.
  CUgraphNode add(CUgraph graph, const Nodes& after, std::size_t length,
                  KernelTimes* times = nullptr) const {
    std::int64_t cycles = cycles_of(spin_lengths()[length]);
    if (times == nullptr) times = times_;
    void* arguments[] = {&cycles, &times};
    CUDA_KERNEL_NODE_PARAMS parameters = parameters_[length];
    parameters.kernelParams = arguments;
    CUgraphNode node = nullptr;
    check(cuGraphAddKernelNode(&node, graph, after.data(), after.size(), &parameters),
          "cuGraphAddKernelNode");
    return node;
  }

  // `count` nodes of `length` in a row, behind `after`.
  Nodes add_chain(CUgraph graph, Nodes after, std::size_t length, int count) const {
    Nodes chain;
    for (int i = 0; i < count; ++i) {
      chain.push_back(add(graph, after, length));
      after = {chain.back()};
    }
    return chain;
  }

  // Keeps the stream busy meanwhile, so that what is queued next follows without a gap.
  void hold(std::size_t length) const {
    const SpinLength spin = spin_lengths()[length];
    spin.kernel<<<1, 1, 0, stream_>>>(cycles_of(spin), times_);
    check(cudaGetLastError(), "launch");
  }

 private:
  [[nodiscard]] std::int64_t cycles_of(const SpinLength& length) const {
    return static_cast<std::int64_t>(length.us * cycles_per_us_);
  }

  // The driver knows the kernel by a handle of its own: what a capture of one launch has in it.
  [[nodiscard]] CUDA_KERNEL_NODE_PARAMS parameters_of(const SpinLength& length) const {
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "begin capture");
    length.kernel<<<1, 1, 0, stream_>>>(0, times_);
    check(cudaStreamEndCapture(stream_, &graph), "end capture");
    CUgraphNode node = nullptr;
    std::size_t count = 1;
    check(cuGraphGetNodes(graph, &node, &count), "cuGraphGetNodes");
    CUDA_KERNEL_NODE_PARAMS parameters{};
    check(cuGraphKernelNodeGetParams(node, &parameters), "cuGraphKernelNodeGetParams");
    check(cudaGraphDestroy(graph), "cudaGraphDestroy");
    return parameters;
  }

  cudaStream_t stream_ = nullptr;
  KernelTimes* times_ = nullptr;  // of kernels that nobody asks
  double cycles_per_us_ = 0;
  std::array<CUDA_KERNEL_NODE_PARAMS, kSpinLengths> parameters_{};
};

struct EventPair {
  EventPair() {
    check(cuEventCreate(&start, CU_EVENT_DEFAULT), "cuEventCreate");
    check(cuEventCreate(&stop, CU_EVENT_DEFAULT), "cuEventCreate");
  }
  ~EventPair() {
    static_cast<void>(cuEventDestroy(start));
    static_cast<void>(cuEventDestroy(stop));
  }
  EventPair(const EventPair&) = delete;
  EventPair& operator=(const EventPair&) = delete;

  [[nodiscard]] double us() const {
    float ms = 0;
    check(cuEventElapsedTime(&ms, start, stop), "cuEventElapsedTime");
    return static_cast<double>(ms) * 1e3;
  }

  CUevent start = nullptr;
  CUevent stop = nullptr;
};

inline CUgraphExec instantiated(CUgraph graph) {
  CUgraphExec exec = nullptr;
  check(cuGraphInstantiate(&exec, graph, 0), "cuGraphInstantiate");
  return exec;
}

struct TimedClone {
  CUgraph graph = nullptr;
  CUgraphNode start_node = nullptr;
  CUgraphNode stop_node = nullptr;
};

inline CUgraph cloned(CUgraph original) {
  CUgraph clone = nullptr;
  check(cuGraphClone(&clone, original), "cuGraphClone");
  return clone;
}

// As the injected library's clones are made: predecessors -> start -> node -> stop -> successors.
// `node` is the original's.
inline TimedClone put_events_around(CUgraph clone, CUgraphNode node, const EventPair& pair) {
  TimedClone timed{.graph = clone};
  CUgraphNode twin = nullptr;
  check(cuGraphNodeFindInClone(&twin, node, clone), "cuGraphNodeFindInClone");
  const auto neighbours = [&](auto get) {
    std::size_t count = 0;
    check(get(twin, nullptr, nullptr, &count), "neighbours of a node");
    Nodes nodes(count);
    std::vector<CUgraphEdgeData> edges(count);
    if (count > 0) check(get(twin, nodes.data(), edges.data(), &count), "neighbours of a node");
    return nodes;
  };
  const Nodes before = neighbours(cuGraphNodeGetDependencies_v2);
  const Nodes after = neighbours(cuGraphNodeGetDependentNodes_v2);
  check(
      cuGraphAddEventRecordNode(&timed.start_node, clone, before.data(), before.size(), pair.start),
      "cuGraphAddEventRecordNode");
  check(cuGraphAddEventRecordNode(&timed.stop_node, clone, &twin, 1, pair.stop),
        "cuGraphAddEventRecordNode");
  for (CUgraphNode other : before) {
    check(cuGraphRemoveDependencies_v2(clone, &other, &twin, nullptr, 1), "remove dependency");
  }
  for (CUgraphNode other : after) {
    check(cuGraphRemoveDependencies_v2(clone, &twin, &other, nullptr, 1), "remove dependency");
    check(cuGraphAddDependencies_v2(clone, &timed.stop_node, &other, nullptr, 1), "add dependency");
  }
  check(cuGraphAddDependencies_v2(clone, &timed.start_node, &twin, nullptr, 1), "add dependency");
  return timed;
}

}  // namespace inline_prof::gpu_test
