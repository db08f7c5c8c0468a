// A training loop in miniature, whose blocks of iterations are timed on the application's clock.
//
//   overhead_loop launch|gpu|graph [--blocks N] [--iterations N] [--toggle] [--nvtx]
//
//   launch  1000 kernels of about 2 us in an iteration: the application is the slower one
//   gpu     20 kernels of 200 us: the GPU is
//   graph   4 replays of a graph of 250 such short kernels
//
// --toggle: in blocks of the pattern off, on, on, off the injected library is told by SIGUSR1 to
// measure (INLINE_PROF_TRIGGER=signal:USR1); the process is the same, so its clocks and its memory
// are.
// --nvtx: a range around each iteration and each launch.
// Prints a line for each block: `on|off MICROSECONDS_AN_ITERATION`.
#include "gpu_check.hpp"
#include "spin_kernels.cuh"

#include <inline_prof/profile.hpp>

#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

namespace {

using inline_prof::gpu_test::check;

constexpr double kShortUs = 2;
constexpr double kLongUs = 200;
constexpr int kShortKernels = 1000;
constexpr int kLongKernels = 20;
constexpr int kReplays = 4;

__global__ void work(std::int64_t cycles) {
  inline_prof::gpu_test::spin_cycles(cycles);
}

struct Options {
  const char* work = "";
  int blocks = 48;
  int iterations = 20;
  bool toggle = false;
  bool nvtx = false;
};

bool parse(int argc, char** argv, Options& options) {
  if (argc < 2) return false;
  options.work = argv[1];
  for (int i = 2; i < argc; ++i) {
    if (std::strcmp(argv[i], "--toggle") == 0) {
      options.toggle = true;
    } else if (std::strcmp(argv[i], "--nvtx") == 0) {
      options.nvtx = true;
    } else if (std::strcmp(argv[i], "--blocks") == 0 && i + 1 < argc) {
      options.blocks = std::atoi(argv[++i]);
    } else if (std::strcmp(argv[i], "--iterations") == 0 && i + 1 < argc) {
      options.iterations = std::atoi(argv[++i]);
    } else {
      return false;
    }
  }
  return options.blocks > 0 && options.iterations > 0;
}

class Loop {
 public:
  explicit Loop(const Options& options) : options_(options) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    cycles_per_us_ = inline_prof::gpu_test::cycles_per_us_when_warm(stream_);
    if (std::strcmp(options.work, "gpu") == 0) {
      kernels_ = kLongKernels;
      kernel_us_ = kLongUs;
    }
    if (std::strcmp(options.work, "graph") == 0) make_graph();
  }

  void iteration() {
    PROFILE_ITERATION();
    if (options_.nvtx) nvtxRangePushA("iteration");
    if (exec_ != nullptr) {
      for (int i = 0; i < kReplays; ++i)
        check(cudaGraphLaunch(exec_, stream_), "cudaGraphLaunch");
    } else {
      for (int i = 0; i < kernels_; ++i) {
        if (options_.nvtx) nvtxRangePushA("layer");
        launch();
        if (options_.nvtx) nvtxRangePop();
      }
    }
    if (options_.nvtx) nvtxRangePop();
    check(cudaGetLastError(), "launch");
  }

  void wait() { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

 private:
  void launch() {
    work<<<1, 1, 0, stream_>>>(static_cast<std::int64_t>(kernel_us_ * cycles_per_us_));
  }

  void make_graph() {
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "begin capture");
    for (int i = 0; i < kernels_ / kReplays; ++i)
      launch();
    check(cudaStreamEndCapture(stream_, &graph), "end capture");
    check(cudaGraphInstantiate(&exec_, graph, 0), "cudaGraphInstantiate");
    check(cudaGraphDestroy(graph), "cudaGraphDestroy");
  }

  const Options& options_;
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  double cycles_per_us_ = 0;
  int kernels_ = kShortKernels;
  double kernel_us_ = kShortUs;
};

// Without somebody who listens the signal ends the process.
void require_listener() {
  struct sigaction action {};
  sigaction(SIGUSR1, nullptr, &action);
  if (action.sa_handler != SIG_DFL) return;
  std::fprintf(stderr, "skipped: nobody listens to SIGUSR1: INLINE_PROF_TRIGGER=signal:USR1?\n");
  std::exit(inline_prof::gpu_test::kSkipped);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options) ||
      (std::strcmp(options.work, "launch") != 0 && std::strcmp(options.work, "gpu") != 0 &&
       std::strcmp(options.work, "graph") != 0)) {
    std::fprintf(stderr,
                 "usage: overhead_loop launch|gpu|graph [--blocks N] [--iterations N] "
                 "[--toggle] [--nvtx]\n");
    return 2;
  }
  inline_prof::gpu_test::skip_without_gpu();
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  // glibc's mutexes are cheaper in a process that has never had a second thread, and the injected
  // library is one.
  std::thread([] {}).join();
  Loop loop(options);
  for (int i = 0; i < options.iterations; ++i)
    loop.iteration();
  loop.wait();
  if (options.toggle) require_listener();
  bool is_on = false;
  for (int block = 0; block < options.blocks; ++block) {
    const bool want_on = options.toggle && (block % 4 == 1 || block % 4 == 2);
    if (want_on != is_on) std::raise(SIGUSR1);
    is_on = want_on;
    // What the injected library does once, when it begins and when it stops, belongs to no block.
    loop.iteration();
    loop.iteration();
    loop.wait();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < options.iterations; ++i)
      loop.iteration();
    loop.wait();
    const std::chrono::duration<double, std::micro> passed =
        std::chrono::steady_clock::now() - start;
    std::printf("%s %.3f\n", is_on ? "on" : "off", passed.count() / options.iterations);
  }
  return 0;
}
