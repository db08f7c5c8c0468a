// A host whose launches are counted twice: by CUPTI and by the injected library (census.py
// compares).
//
//   launch_census streams|graph
//
// Built with the static and with the shared CUDA runtime.  `streams` uses every launch form of the
// runtime on two streams and from two threads; `graph` replays a captured graph, a part of which is
// captured from `streams`' kernels.
#include "gpu_check.hpp"

#include <inline_prof/profile.hpp>

#include <cuda_runtime.h>

#include <cooperative_groups.h>
#include <cstring>
#include <thread>

namespace {

using inline_prof::gpu_test::check;

constexpr int kIterations = 25;
constexpr int kReplaysPerIteration = 4;

__global__ void add_one(float* value) {
  value[threadIdx.x] += 1.0F;
}

__global__ void scale(float* value, float factor) {
  value[threadIdx.x] *= factor;
}

__global__ void cooperative(float* value) {
  cooperative_groups::this_grid().sync();
  value[threadIdx.x] += 2.0F;
}

struct Streams {
  cudaStream_t first = nullptr;
  cudaStream_t second = nullptr;
  float* values = nullptr;  // 32 floats for each stream
};

Streams make_streams() {
  Streams streams;
  check(cudaStreamCreateWithFlags(&streams.first, cudaStreamNonBlocking), "cudaStreamCreate");
  check(cudaStreamCreate(&streams.second), "cudaStreamCreate");
  check(cudaMalloc(&streams.values, 64 * sizeof(float)), "cudaMalloc");
  check(cudaMemset(streams.values, 0, 64 * sizeof(float)), "cudaMemset");
  return streams;
}

void launch_extended(float* values, cudaStream_t stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(32);
  config.stream = stream;
  check(cudaLaunchKernelEx(&config, scale, values, 0.5F), "cudaLaunchKernelEx");
}

void launch_cooperative(float* values, cudaStream_t stream) {
  void* arguments[] = {&values};
  check(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(cooperative), dim3(1), dim3(32),
                                    arguments, 0, stream),
        "cudaLaunchCooperativeKernel");
}

void one_iteration(const Streams& streams) {
  add_one<<<1, 32, 0, streams.first>>>(streams.values);
  scale<<<1, 32, 0, streams.first>>>(streams.values, 0.25F);
  add_one<<<1, 32, 0, streams.first>>>(streams.values);
  launch_extended(streams.values, streams.first);
  launch_cooperative(streams.values, streams.first);
  add_one<<<1, 32>>>(streams.values);  // the legacy stream
  std::thread other([&] {
    add_one<<<1, 32, 0, streams.second>>>(streams.values + 32);
    check(cudaGetLastError(), "launch on another thread");
  });
  other.join();
  check(cudaGetLastError(), "launch");
}

void run_streams() {
  const Streams streams = make_streams();
  for (int i = 0; i < kIterations; ++i) {
    PROFILE_ITERATION();
    one_iteration(streams);
  }
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

void run_graph() {
  const Streams streams = make_streams();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  check(cudaStreamBeginCapture(streams.first, cudaStreamCaptureModeThreadLocal), "begin capture");
  add_one<<<1, 32, 0, streams.first>>>(streams.values);
  scale<<<1, 32, 0, streams.first>>>(streams.values, 0.5F);
  add_one<<<1, 32, 0, streams.first>>>(streams.values);
  check(cudaStreamEndCapture(streams.first, &graph), "end capture");
  check(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
  check(cudaGraphDestroy(graph), "cudaGraphDestroy");  // as PyTorch does, at once
  for (int i = 0; i < kIterations; ++i) {
    PROFILE_ITERATION();
    for (int replay = 0; replay < kReplaysPerIteration; ++replay) {
      check(cudaGraphLaunch(exec, streams.first), "cudaGraphLaunch");
    }
    scale<<<1, 32, 0, streams.first>>>(streams.values, 0.5F);  // beside the graph
  }
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  check(cudaGraphExecDestroy(exec), "cudaGraphExecDestroy");
}

}  // namespace

int main(int argc, char** argv) {
  inline_prof::gpu_test::skip_without_gpu();
  if (argc == 2 && std::strcmp(argv[1], "streams") == 0) {
    run_streams();
  } else if (argc == 2 && std::strcmp(argv[1], "graph") == 0) {
    run_graph();
  } else {
    std::fprintf(stderr, "usage: launch_census streams|graph\n");
    return 2;
  }
  return 0;
}
