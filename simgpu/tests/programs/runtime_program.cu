// A program that nvcc builds: one subcommand per test of the runtime.
#include "scenes.hpp"

#include <thread>
#include <vector>

__constant__ float coefficients[4];
__device__ int counter;
__managed__ int shared_number = 5;

__global__ void fill(float* data, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) data[i] = coefficients[0] + static_cast<float>(counter + shared_number);
}

template <typename Number>
__global__ void scale(Number* data) {
  data[threadIdx.x] *= Number(2);
}

namespace {

struct Pair {
  cudaEvent_t start, stop;
  Pair() {
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
  }
  double elapsed_us() const {
    CHECK(cudaEventSynchronize(stop));
    float milliseconds = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
    return milliseconds * 1e3;
  }
};

cudaStream_t new_stream() {
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

// Keeps the device busy so that what follows is queued behind work.
void occupy(cudaStream_t stream) {
  scale<double><<<1000000, 32, 0, stream>>>(nullptr);
}

void launches() {
  cudaStream_t stream = new_stream();
  float* data = nullptr;
  CHECK(cudaMalloc(&data, 1024));
  Pair pair;
  occupy(stream);
  CHECK(cudaEventRecord(pair.start, stream));
  fill<<<2, 128, 0, stream>>>(data, 256);
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(pair.stop, stream));
  std::printf("fill %.3f us\n", pair.elapsed_us());

  cudaLaunchConfig_t config{};
  config.gridDim = 3;
  config.blockDim = 32;
  config.stream = stream;
  CHECK(cudaLaunchKernelEx(&config, scale<float>, data));
  void* arguments[] = {&data};
  CHECK(cudaLaunchCooperativeKernel(scale<float>, dim3(4), dim3(32), arguments, 0, stream));
  CHECK(cudaLaunchKernel(scale<float>, dim3(5), dim3(32), arguments, 0, stream));
  CHECK(cudaStreamSynchronize(stream));
  std::printf("launched\n");
}

void graphs() {
  cudaStream_t stream = new_stream();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  fill<<<1, 32, 0, stream>>>(nullptr,
                             0);  // the first launch of the program: loads code in a capture
  scale<float><<<8000, 32, 0, stream>>>(nullptr);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  Pair pair;
  for (int i = 0; i < 2; ++i) {
    occupy(stream);
    CHECK(cudaEventRecord(pair.start, stream));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaEventRecord(pair.stop, stream));
    std::printf("graph %.3f us\n", pair.elapsed_us());
  }
}

void symbols() {
  const float values[4] = {1, 2, 3, 4};
  CHECK(cudaMemcpyToSymbol(coefficients, values, sizeof values));
  float back[4] = {};
  CHECK(cudaMemcpyFromSymbol(back, coefficients, sizeof back));
  int count = 42;
  CHECK(cudaMemcpyToSymbol(counter, &count, sizeof count));
  count = 0;
  CHECK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
  size_t bytes = 0;
  CHECK(cudaGetSymbolSize(&bytes, coefficients));
  shared_number = 9;
  void* address = nullptr;
  CHECK(cudaGetSymbolAddress(&address, shared_number));
  std::printf("%g %d %zu %d\n", back[3], count, bytes,
              address == &shared_number ? shared_number : 0);
}

void default_stream() {
  Pair pair;
  std::thread([] { occupy(nullptr); }).join();
  // With per-thread default streams this thread's one is idle.
  std::printf("default stream is %s\n", cudaStreamQuery(nullptr) == cudaSuccess ? "idle" : "busy");
  CHECK(cudaDeviceSynchronize());
}

void devices() {
  int count = 0;
  CHECK(cudaGetDeviceCount(&count));
  cudaDeviceProp properties{};
  CHECK(cudaGetDeviceProperties(&properties, count - 1));
  std::printf("%d x %s, %d SMs, %d.%d\n", count, properties.name, properties.multiProcessorCount,
              properties.major, properties.minor);
  for (int device = 0; device < count; ++device) {
    CHECK(cudaSetDevice(device));
    if (device == 0) occupy(nullptr);
    fill<<<1, 1>>>(nullptr, 0);
  }
  for (int device = 0; device < count; ++device) {
    CHECK(cudaSetDevice(device));
    std::printf("device %d is %s\n", device,
                cudaStreamQuery(cudaStreamLegacy) == cudaSuccess ? "idle" : "busy");
  }
}

void attributes() {
  cudaFuncAttributes read{};
  CHECK(cudaFuncGetAttributes(&read, fill));
  cudaFunction_t by_symbol = nullptr;
  CHECK(cudaGetFuncBySymbol(&by_symbol, reinterpret_cast<const void*>(fill)));
  int blocks = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 256, 0));
  std::printf("%d registers, %d blocks per SM, %d threads\n", read.numRegs, blocks,
              read.maxThreadsPerBlock);
}

int pair_count = 64;

// Elapsed times of `pair_count` empty pairs, then of as many around a kernel, behind work.
void pairs() {
  cudaStream_t stream = new_stream();
  std::vector<Pair> empty(static_cast<size_t>(pair_count)), around(empty.size());
  occupy(stream);
  for (const auto& pair : empty) {
    CHECK(cudaEventRecord(pair.start, stream));
    CHECK(cudaEventRecord(pair.stop, stream));
  }
  for (const auto& pair : around) {
    CHECK(cudaEventRecord(pair.start, stream));
    scale<float><<<8000, 32, 0, stream>>>(nullptr);
    CHECK(cudaEventRecord(pair.stop, stream));
  }
  for (const auto& pair : empty)
    std::printf("empty %.3f\n", pair.elapsed_us());
  for (const auto& pair : around)
    std::printf("kernel %.3f\n", pair.elapsed_us());
}

void errors() {
  fill<<<1, 2048>>>(nullptr, 0);  // too many threads
  std::printf("%s\n", cudaGetErrorName(cudaPeekAtLastError()));
  std::printf("%s\n", cudaGetErrorName(cudaGetLastError()));
  std::printf("%s\n", cudaGetErrorName(cudaGetLastError()));
  std::printf("%s\n", cudaGetErrorName(cudaEventQuery(nullptr)));
}

// In the middle of a run: what the simulator does not have, twice.
void not_simulated() {
  fill<<<1, 1>>>(nullptr, 0);
  for (int i = 0; i < 2; ++i) {
    cudaArray_t array = nullptr;
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    std::printf("%s\n", cudaGetErrorName(cudaMallocArray(&array, &format, 16)));
  }
  fill<<<1, 1>>>(nullptr, 0);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}

void versions() {
  int driver = 0, runtime = 0;
  std::printf("%s", cudaGetErrorName(cudaDriverGetVersion(&driver)));
  std::printf(" %s", cudaGetErrorName(cudaRuntimeGetVersion(&runtime)));
  void* data = nullptr;
  std::printf(" %d %d %s\n", driver, runtime, cudaGetErrorName(cudaMalloc(&data, 16)));
}

// Prints the code of each call, whatever it is.
void calls() {
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  std::printf("cudaStreamCreate %d\n", static_cast<int>(cudaStreamCreate(&stream)));
  std::printf("cudaEventCreate %d\n", static_cast<int>(cudaEventCreate(&event)));
  for (int i = 0; i < 4; ++i) {
    std::printf("cudaEventRecord %d\n", static_cast<int>(cudaEventRecord(event, stream)));
  }
  void* data = nullptr;
  std::printf("cudaMalloc %d\n", static_cast<int>(cudaMalloc(&data, 16)));
}

// Four threads that launch on a stream of their own each.
void threads() {
  std::vector<cudaStream_t> streams(4);
  for (auto& stream : streams)
    stream = new_stream();
  std::vector<std::thread> workers;
  for (const auto stream : streams) {
    workers.emplace_back([stream] {
      for (int i = 0; i < 200; ++i)
        scale<float><<<100, 32, 0, stream>>>(nullptr);
      CHECK(cudaStreamSynchronize(stream));
    });
  }
  for (auto& worker : workers)
    worker.join();
}

void reset() {
  fill<<<1, 1>>>(nullptr, 0);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceReset());
  fill<<<1, 1>>>(nullptr, 0);
  CHECK(cudaGetLastError());
  std::printf("launched after a reset\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2) pair_count = std::atoi(argv[2]);
  return play(argv[1], {{"launches", launches},
                        {"graphs", graphs},
                        {"symbols", symbols},
                        {"default_stream", default_stream},
                        {"devices", devices},
                        {"attributes", attributes},
                        {"pairs", pairs},
                        {"errors", errors},
                        {"calls", calls},
                        {"threads", threads},
                        {"reset", reset},
                        {"not_simulated", not_simulated},
                        {"versions", versions}});
}
