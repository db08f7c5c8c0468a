// Every launch form of the runtime, for what must be seen of launches (census.py) and must not
// change in results (cost.py).
//
//   launch_forms streams|graph|thrust [--reset]
//
// Prints sums over the bits of what was computed.  --reset: the device is reset half way, and
// everything made anew.
#include <inline_prof/profile.hpp>

#include <cuda_runtime.h>

#include <chrono>
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <vector>

namespace {

constexpr int kIterations = 200;
constexpr int kReplays = 4;
constexpr unsigned kCount = 1 << 14;  // so few that all blocks of a cooperative launch run at once
constexpr unsigned kThreads = 256;
constexpr unsigned kBlocks = kCount / kThreads;

void check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(result));
  std::exit(1);
}

__global__ void start(float* values) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  values[i] = 1.0F + static_cast<float>(i % 97U) * 0.01F;
}

// Each result is of two numbers, so that another order of launches has other results.
__device__ float relaxed(const float* from, unsigned i) {
  return 0.49F * from[i] + 0.5F * from[(i + 1) % kCount] + 0.01F * sinf(from[i]);
}

__global__ void relax(const float* from, float* to) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = relaxed(from, i);
}

__global__ void relax_together(float* a, float* b) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  b[i] = relaxed(a, i);
  cooperative_groups::this_grid().sync();
  a[i] = relaxed(b, i);
}

// Numbers on a stream.
class Numbers {
 public:
  explicit Numbers(cudaStream_t stream) : stream_(stream) {
    check(cudaMalloc(&a_, kBytes), "cudaMalloc");
    check(cudaMalloc(&b_, kBytes), "cudaMalloc");
    start<<<kBlocks, kThreads, 0, stream_>>>(a_);
  }
  [[nodiscard]] cudaStream_t stream() const { return stream_; }

  void launch() {
    relax<<<kBlocks, kThreads, 0, stream_>>>(a_, b_);
    check(cudaGetLastError(), "launch");
    std::swap(a_, b_);
  }
  void launch_extended() {
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(kBlocks);
    config.blockDim = dim3(kThreads);
    config.stream = stream_;
    const float* from = a_;
    check(cudaLaunchKernelEx(&config, relax, from, b_), "cudaLaunchKernelEx");
    std::swap(a_, b_);
  }
  void launch_cooperative() {
    void* arguments[] = {&a_, &b_};
    check(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(relax_together), dim3(kBlocks),
                                      dim3(kThreads), arguments, 0, stream_),
          "cudaLaunchCooperativeKernel");
  }

  // Prints FNV-1a over the bits: any changed bit changes it, with a chance of 2^-64 to the
  // contrary.
  void say() {
    std::vector<std::uint32_t> values(kCount);
    check(cudaMemcpyAsync(values.data(), a_, kBytes, cudaMemcpyDeviceToHost, stream_), "copy");
    check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    std::uint64_t sum = 0xcbf29ce484222325ULL;
    for (const std::uint32_t bits : values)
      sum = (sum ^ bits) * 0x100000001b3ULL;
    std::printf("%016llx\n", static_cast<unsigned long long>(sum));
    check(cudaFree(a_), "cudaFree");
    check(cudaFree(b_), "cudaFree");
    if (stream_ != nullptr) check(cudaStreamDestroy(stream_), "cudaStreamDestroy");
  }

 private:
  static constexpr std::size_t kBytes = kCount * sizeof(float);

  cudaStream_t stream_;
  float* a_ = nullptr;
  float* b_ = nullptr;
};

cudaStream_t make_stream(unsigned flags) {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, flags), "cudaStreamCreate");
  return stream;
}

template <typename Step>
void iterate(const Step& step) {
  for (int i = 0; i < kIterations; ++i) {
    PROFILE_ITERATION();
    step();
    // The injected library makes the copies of a graph on another thread, which takes real time.
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

void streams() {
  Numbers first(make_stream(cudaStreamNonBlocking));
  Numbers second(make_stream(cudaStreamDefault));  // waits for the legacy stream
  Numbers legacy(nullptr);
  iterate([&] {
    first.launch();
    first.launch_extended();
    first.launch();
    first.launch_extended();
    first.launch_cooperative();
    legacy.launch();
    std::thread([&] { second.launch(); }).join();
  });
  for (Numbers* numbers : {&first, &second, &legacy})
    numbers->say();
}

void graph() {
  Numbers numbers(make_stream(cudaStreamNonBlocking));
  cudaGraph_t captured = nullptr;
  cudaGraphExec_t exec = nullptr;
  check(cudaStreamBeginCapture(numbers.stream(), cudaStreamCaptureModeThreadLocal), "capture");
  numbers.launch();
  numbers.launch();
  check(cudaStreamEndCapture(numbers.stream(), &captured), "capture");
  check(cudaGraphInstantiate(&exec, captured, 0), "cudaGraphInstantiate");
  check(cudaGraphDestroy(captured), "cudaGraphDestroy");  // at once, as PyTorch does
  iterate([&] {
    for (int replay = 0; replay < kReplays; ++replay)
      check(cudaGraphLaunch(exec, numbers.stream()), "cudaGraphLaunch");
    numbers.launch_cooperative();  // beside the graph
  });
  numbers.say();
  check(cudaGraphExecDestroy(exec), "cudaGraphExecDestroy");
}

void thrust_only() {
  constexpr int kNumbers = 1 << 20;
  int* memory = nullptr;
  check(cudaMalloc(&memory, kNumbers * sizeof(int)), "cudaMalloc");
  const thrust::device_ptr<int> values(memory);
  iterate([&] {
    thrust::sequence(values, values + kNumbers, kNumbers, -1);
    thrust::sort(values, values + kNumbers);
    static_cast<void>(thrust::reduce(values, values + kNumbers, 0LL));
  });
  check(cudaFree(memory), "cudaFree");
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, void (*)()> all{
      {"streams", streams}, {"graph", graph}, {"thrust", thrust_only}};
  const auto form = argc < 2 ? all.end() : all.find(argv[1]);
  if (form == all.end()) {
    std::fprintf(stderr, "usage: launch_forms streams|graph|thrust [--reset]\n");
    return 2;
  }
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result != cudaSuccess || count == 0) {
    std::fprintf(stderr, "skipped: no GPU (%s)\n", cudaGetErrorString(result));
    return 77;  // ctest's SKIP_RETURN_CODE
  }
  form->second();
  if (argc == 2) return 0;
  check(cudaDeviceReset(), "cudaDeviceReset");
  form->second();
  return 0;
}
