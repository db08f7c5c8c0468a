// A host whose results must not change by a bit under the injected library: kernels on two streams,
// a graph, and products in the order that one stream gives them.
//
//   same_results [--reset]     with --reset the device is reset half way, and everything made anew
//
// Prints a line for each part: its name and a sum over the bits of what it computed.
#include "gpu_check.hpp"

#include <inline_prof/profile.hpp>

#include <cuda_runtime.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace {

using inline_prof::gpu_test::check;

constexpr int kCount = 1 << 16;
constexpr int kIterations = 150;
constexpr int kThreads = 256;

__global__ void start(float* values) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  values[i] = 1.0F + static_cast<float>(i % 97U) * 0.01F;
}

__global__ void relax(const float* from, float* to) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned next = (i + 1) % kCount;
  to[i] = 0.49F * from[i] + 0.5F * from[next] + 0.01F * sinf(from[i]);
}

// Returns FNV-1a over the bits: any changed bit changes it (with a chance of 2^-64 to the
// contrary).
std::uint64_t sum_of_bits(const std::vector<float>& values) {
  std::uint64_t sum = 0xcbf29ce484222325ULL;
  for (const float value : values) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    sum = (sum ^ bits) * 0x100000001b3ULL;
  }
  return sum;
}

class Part {
 public:
  Part() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaMalloc(&a_, kCount * sizeof(float)), "cudaMalloc");
    check(cudaMalloc(&b_, kCount * sizeof(float)), "cudaMalloc");
    start<<<kCount / kThreads, kThreads, 0, stream_>>>(a_);
  }
  void two_steps() {
    relax<<<kCount / kThreads, kThreads, 0, stream_>>>(a_, b_);
    relax<<<kCount / kThreads, kThreads, 0, stream_>>>(b_, a_);
    check(cudaGetLastError(), "launch");
  }
  [[nodiscard]] cudaGraphExec_t captured() {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "begin capture");
    two_steps();
    check(cudaStreamEndCapture(stream_, &graph), "end capture");
    check(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
    check(cudaGraphDestroy(graph), "cudaGraphDestroy");
    return exec;
  }
  [[nodiscard]] cudaStream_t stream() const { return stream_; }
  void say(const char* name) {
    std::vector<float> values(kCount);
    check(
        cudaMemcpyAsync(values.data(), a_, kCount * sizeof(float), cudaMemcpyDeviceToHost, stream_),
        "cudaMemcpyAsync");
    check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    std::printf("%s %016llx\n", name, static_cast<unsigned long long>(sum_of_bits(values)));
    check(cudaFree(a_), "cudaFree");
    check(cudaFree(b_), "cudaFree");
    check(cudaStreamDestroy(stream_), "cudaStreamDestroy");
  }

 private:
  cudaStream_t stream_ = nullptr;
  float* a_ = nullptr;
  float* b_ = nullptr;
};

void run(const char* streams_name, const char* graph_name) {
  Part first;
  Part second;
  Part replayed;
  cudaGraphExec_t exec = replayed.captured();
  for (int i = 0; i < kIterations; ++i) {
    PROFILE_ITERATION();
    first.two_steps();
    second.two_steps();
    check(cudaGraphLaunch(exec, replayed.stream()), "cudaGraphLaunch");
    // Another thread builds the copies of the graph in real time, which the simulated GPU does not
    // take.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  first.say(streams_name);
  second.say(streams_name);
  replayed.say(graph_name);
  check(cudaGraphExecDestroy(exec), "cudaGraphExecDestroy");
}

}  // namespace

int main(int argc, char** argv) {
  const bool reset = argc == 2 && std::strcmp(argv[1], "--reset") == 0;
  if (argc > 2 || (argc == 2 && !reset)) {
    std::fprintf(stderr, "usage: same_results [--reset]\n");
    return 2;
  }
  inline_prof::gpu_test::skip_without_gpu();
  run("streams", "graph");
  if (reset) {
    check(cudaDeviceReset(), "cudaDeviceReset");
    run("streams after a reset", "graph after a reset");
  }
  return 0;
}
