// What a kernel launch costs the application thread, in nanoseconds.
//
//   launch_rate [--iterations N] [--launches N]
//
// Each iteration launches an empty kernel N times on one stream (default 400: well below the depth
// of a launch queue, 1024 on GPUs seen so far, so that no launch waits for the GPU) and then waits.
// Prints the median over the last half of the iterations, in which an injected library with a short
// schedule has done its work: `median_ns p05_ns p95_ns`.
#include "gpu_check.hpp"

#include <inline_prof/profile.hpp>

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

namespace {

using inline_prof::gpu_test::check;

__global__ void empty_kernel() {}

}  // namespace

int main(int argc, char** argv) {
  int iterations = 400;
  int launches = 400;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--iterations") == 0) iterations = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--launches") == 0) launches = std::atoi(argv[i + 1]);
  }
  if (argc % 2 == 0 || iterations < 2 || launches < 1) {
    std::fprintf(stderr, "usage: launch_rate [--iterations N] [--launches N]\n");
    return 2;
  }
  inline_prof::gpu_test::skip_without_gpu();
  // glibc's mutexes are cheaper in a process that has never had a second thread (19 ns a launch on
  // the simulated GPU).  The injected library's writer is a thread, so let all runs have had one.
  std::thread([] {}).join();

  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  std::vector<double> launch_ns;
  for (int i = 0; i < iterations; ++i) {
    PROFILE_ITERATION();
    const auto start = std::chrono::steady_clock::now();
    for (int launch = 0; launch < launches; ++launch)
      empty_kernel<<<1, 1, 0, stream>>>();
    const std::chrono::duration<double, std::nano> passed =
        std::chrono::steady_clock::now() - start;
    check(cudaGetLastError(), "launch");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    if (i >= iterations / 2) launch_ns.push_back(passed.count() / launches);
  }
  std::sort(launch_ns.begin(), launch_ns.end());
  const auto at = [&](double share) {
    return launch_ns[static_cast<std::size_t>(share * static_cast<double>(launch_ns.size() - 1))];
  };
  std::printf("%.1f %.1f %.1f\n", at(0.5), at(0.05), at(0.95));
  return 0;
}
