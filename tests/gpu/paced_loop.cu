// A loop whose iterations differ in length in a way that cannot be mistaken for another loop's, for
// paced_loop.py: iteration i has 1 + i * i % 5 kernels of 20 us beside its others.
//
//   paced_loop [--iterations N] [--threads N]
//
// --threads: so many other threads launch on streams of their own all the while.  All of them make
// their first launch at the same moment, which is the first launch of the process.
#include "gpu_check.hpp"
#include "spin_kernels.cuh"

#include <inline_prof/profile.hpp>

#include <cuda_runtime.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

namespace {

using inline_prof::gpu_test::check;

constexpr int kIterationsAhead = 100;  // fewer launches than a stream's queue is deep
constexpr int kLaunchesAtOnce = 16;    // of the other threads

// One kernel a length, so that a model and a report can tell them apart.
template <int kLengthUs>
__global__ void paced(std::int64_t cycles) {
  inline_prof::gpu_test::spin_cycles(cycles);
}
__global__ void begins() {}
__global__ void beside() {}

struct Options {
  int iterations = 300;
  int threads = 0;
};

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--iterations") == 0) {
      options.iterations = std::atoi(argv[i + 1]);
    } else if (std::strcmp(argv[i], "--threads") == 0) {
      options.threads = std::atoi(argv[i + 1]);
    } else {
      return false;
    }
  }
  return argc % 2 == 1 && options.iterations > 0 && options.threads >= 0;
}

cudaStream_t make_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  return stream;
}

double cycles_per_us() {
  int clock_khz = 0;
  check(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, 0), "cudaDeviceGetAttribute");
  return clock_khz * 1e-3;
}

template <int kLengthUs>
void launch(cudaStream_t stream, double cycles_a_us) {
  paced<kLengthUs><<<1, 1, 0, stream>>>(static_cast<std::int64_t>(kLengthUs * cycles_a_us));
}

void run_iterations(const Options& options, cudaStream_t stream, double cycles_a_us) {
  for (int i = 0; i < options.iterations; ++i) {
    PROFILE_ITERATION();
    begins<<<1, 1, 0, stream>>>();
    for (int step = 0; step <= i * i % 5; ++step)
      launch<20>(stream, cycles_a_us);
    launch<100>(stream, cycles_a_us);
    launch<5>(stream, cycles_a_us);
    check(cudaGetLastError(), "launch");
    if (i % kIterationsAhead == 0) check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fprintf(stderr, "usage: paced_loop [--iterations N] [--threads N]\n");
    return 2;
  }
  inline_prof::gpu_test::skip_without_gpu();
  const double cycles_a_us = cycles_per_us();
  cudaStream_t stream = make_stream();
  std::atomic<int> awaited{options.threads + 1};
  const auto wait_for_all = [&awaited] {
    --awaited;
    while (awaited.load() > 0) {
    }
  };
  std::atomic<bool> ends{false};
  std::atomic<long long> launches{0};
  std::vector<std::thread> others;
  for (int thread = 0; thread < options.threads; ++thread) {
    others.emplace_back([&, mine = make_stream()] {
      wait_for_all();
      do {
        for (int i = 0; i < kLaunchesAtOnce; ++i)
          beside<<<1, 1, 0, mine>>>();
        check(cudaGetLastError(), "launch of another thread");
        check(cudaStreamSynchronize(mine), "cudaStreamSynchronize");
        launches += kLaunchesAtOnce;
      } while (!ends.load());
    });
  }
  wait_for_all();
  run_iterations(options, stream, cycles_a_us);
  ends = true;
  for (std::thread& other : others)
    other.join();
  std::printf("%d iterations, %lld launches of other threads\n", options.iterations,
              launches.load());
  return 0;
}
