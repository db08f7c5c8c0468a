// Loops of known course, on which the checks judge what the injected library finds and costs.
//
//   loops rate [--iterations N] [--launches N]
//       Launches empty kernels and prints the host's time for a launch in ns: median, p05 and p95
//       of the last half, in which an injected library with a short schedule is done.
//   loops overhead --work launch|gpu|graph [--blocks N] [--iterations N] [--toggle] [--nvtx]
//       Prints `on|off MICROSECONDS` for blocks of iterations.  launch: 1000 kernels of 2 us,
//       bounded by the host; gpu: 20 kernels of 200 us; graph: 4 replays of 250 short kernels.
//       --toggle tells the injected library by SIGUSR1 to measure in blocks of the pattern off, on,
//       on, off.  --nvtx: a range around each iteration and launch.
//   loops paced [--iterations N] [--threads N]
//       Has iterations whose lengths cannot be mistaken for another loop's: iteration i has 1 + i *
//       i % 5 kernels of 20 us beside its others.  --threads: so many threads launch on streams of
//       their own, and all make the first launch of the process at the same moment.
//   loops training [--steps N] [--mark] [--ranges]
//       Trains six layers, with what real programs have: another order at set-up, every 50th step
//       reads the loss back, every 200th is followed by an evaluation.  Prints a JSON object:
//       steps, launches of a step, its first kernel, and with --ranges the NVTX ranges and the path
//       of each launch.
//   loops streams|graph
//       Has launches that CUPTI and the injected library count (census.py): every launch form of
//       the runtime on two streams and from two threads, or replays of a captured graph.
//   loops results [--reset]
//       Prints for each part of it a sum over the bits of what it computed, which must not change
//       under the injected library.  --reset: the device is reset half way, and everything made
//       anew.
#include "gpu_check.hpp"
#include "spin_kernels.cuh"

#include <inline_prof/profile.hpp>

#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cooperative_groups.h>
#include <csignal>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace inline_prof::gpu_test;
using Clock = std::chrono::steady_clock;
// Numbers and words of the command line; a flag has the value "1".
using Options = std::map<std::string, std::string>;

int number(const Options& options, const char* name, int otherwise) {
  const auto found = options.find(name);
  return found == options.end() ? otherwise : std::atoi(found->second.c_str());
}

bool has(const Options& options, const char* name) {
  return options.count(name) > 0;
}

// --- rate

__global__ void empty_kernel() {}

int run_rate(const Options& options) {
  const int iterations = number(options, "--iterations", 400);
  // Well below the depth of a launch queue, 1024 on GPUs seen so far: no launch waits for the GPU.
  const int launches = number(options, "--launches", 400);
  const cudaStream_t stream = make_stream();
  std::vector<double> launch_ns;
  for (int i = 0; i < iterations; ++i) {
    PROFILE_ITERATION();
    const auto start = Clock::now();
    for (int launch = 0; launch < launches; ++launch)
      empty_kernel<<<1, 1, 0, stream>>>();
    const std::chrono::duration<double, std::nano> passed = Clock::now() - start;
    check(cudaGetLastError(), "launch");
    wait(stream);
    if (i >= iterations / 2) launch_ns.push_back(passed.count() / launches);
  }
  std::printf("%.1f %.1f %.1f\n", percentile(launch_ns, 0.5), percentile(launch_ns, 0.05),
              percentile(launch_ns, 0.95));
  return 0;
}

// --- overhead

__global__ void work(std::int64_t cycles) {
  spin_cycles(cycles);
}

class OverheadLoop {
 public:
  explicit OverheadLoop(const Options& options)
      : has_ranges_(has(options, "--nvtx")), cycles_per_us_(cycles_per_us_when_warm(stream_)) {
    const std::string what = options.count("--work") > 0 ? options.at("--work") : "";
    if (what == "gpu") {
      kernels_ = 20;
      kernel_us_ = 200;
    } else if (what == "graph") {
      exec_ = captured_exec(stream_, [this] {
        for (int i = 0; i < kernels_ / kReplays; ++i)
          launch();
      });
    }
  }

  void iteration() {
    PROFILE_ITERATION();
    if (has_ranges_) nvtxRangePushA("iteration");
    for (int i = 0; exec_ != nullptr && i < kReplays; ++i)
      check(cudaGraphLaunch(exec_, stream_), "cudaGraphLaunch");
    for (int i = 0; exec_ == nullptr && i < kernels_; ++i) {
      if (has_ranges_) nvtxRangePushA("layer");
      launch();
      if (has_ranges_) nvtxRangePop();
    }
    if (has_ranges_) nvtxRangePop();
    check(cudaGetLastError(), "launch");
  }

  void iterations(int count) {
    for (int i = 0; i < count; ++i)
      iteration();
    wait(stream_);
  }

 private:
  static constexpr int kReplays = 4;

  void launch() {
    work<<<1, 1, 0, stream_>>>(static_cast<std::int64_t>(kernel_us_ * cycles_per_us_));
  }

  bool has_ranges_;
  cudaStream_t stream_ = make_stream();
  cudaGraphExec_t exec_ = nullptr;
  double cycles_per_us_;
  int kernels_ = 1000;
  double kernel_us_ = 2;
};

int run_overhead(const Options& options) {
  const int iterations = number(options, "--iterations", 20);
  OverheadLoop loop(options);
  loop.iterations(iterations);
  struct sigaction action {};
  sigaction(SIGUSR1, nullptr, &action);
  if (has(options, "--toggle") &&
      action.sa_handler == SIG_DFL) {  // the signal would end the process
    std::fprintf(stderr, "skipped: nobody listens to SIGUSR1: INLINE_PROF_TRIGGER=signal:USR1?\n");
    return kSkipped;
  }
  bool is_on = false;
  for (int block = 0; block < number(options, "--blocks", 48); ++block) {
    const bool want_on = has(options, "--toggle") && (block % 4 == 1 || block % 4 == 2);
    if (want_on != is_on) std::raise(SIGUSR1);
    is_on = want_on;
    loop.iterations(2);  // what the injected library does once belongs to no block
    const auto start = Clock::now();
    loop.iterations(iterations);
    const std::chrono::duration<double, std::micro> passed = Clock::now() - start;
    std::printf("%s %.3f\n", is_on ? "on" : "off", passed.count() / iterations);
  }
  return 0;
}

// --- paced

// One kernel a length, so that a model and a report can tell them apart.
template <int kLengthUs>
__global__ void paced(std::int64_t cycles) {
  spin_cycles(cycles);
}
__global__ void begins() {}
__global__ void beside() {}

template <int kLengthUs>
void launch_paced(cudaStream_t stream, double cycles_a_us) {
  paced<kLengthUs><<<1, 1, 0, stream>>>(static_cast<std::int64_t>(kLengthUs * cycles_a_us));
}

int run_paced(const Options& options) {
  constexpr int kIterationsAhead = 100;  // fewer launches than a stream's queue is deep
  constexpr int kLaunchesAtOnce = 16;    // of the other threads
  int clock_khz = 0;
  check(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, 0), "cudaDeviceGetAttribute");
  const double cycles_a_us = clock_khz * 1e-3;
  const cudaStream_t stream = make_stream();
  const int threads = number(options, "--threads", 0);
  std::atomic<int> awaited{threads + 1};
  const auto wait_for_all = [&awaited] {
    --awaited;
    while (awaited.load() > 0) {
    }
  };
  std::atomic<bool> ends{false};
  std::vector<std::thread> others;
  for (int thread = 0; thread < threads; ++thread) {
    others.emplace_back([&, mine = make_stream()] {
      wait_for_all();
      do {
        for (int i = 0; i < kLaunchesAtOnce; ++i)
          beside<<<1, 1, 0, mine>>>();
        check(cudaGetLastError(), "launch of another thread");
        wait(mine);
      } while (!ends.load());
    });
  }
  wait_for_all();
  for (int i = 0; i < number(options, "--iterations", 300); ++i) {
    PROFILE_ITERATION();
    begins<<<1, 1, 0, stream>>>();
    for (int step = 0; step <= i * i % 5; ++step)
      launch_paced<20>(stream, cycles_a_us);
    launch_paced<100>(stream, cycles_a_us);
    launch_paced<5>(stream, cycles_a_us);
    check(cudaGetLastError(), "launch");
    if (i % kIterationsAhead == 0) wait(stream);
  }
  wait(stream);
  ends = true;
  for (std::thread& other : others)
    other.join();
  return 0;
}

// --- training

// Kernels of a step, which are told apart by their names.
#define KERNEL_OF_A_STEP(name)                \
  __global__ void name(std::int64_t cycles) { \
    spin_cycles(cycles);                      \
  }
KERNEL_OF_A_STEP(set_up_weights)
KERNEL_OF_A_STEP(make_batch)
KERNEL_OF_A_STEP(multiply_forward)
KERNEL_OF_A_STEP(activate)
KERNEL_OF_A_STEP(loss_of_batch)
KERNEL_OF_A_STEP(multiply_backward)
KERNEL_OF_A_STEP(multiply_for_weights)
KERNEL_OF_A_STEP(update_weights)

class Training {
 public:
  explicit Training(const Options& options)
      : steps_(number(options, "--steps", 1500)),
        has_marks_(has(options, "--mark")),
        has_ranges_(has(options, "--ranges")),
        cycles_per_us_(cycles_per_us_when_warm(stream_)),
        loss_(static_cast<float*>(take_memory(sizeof *loss_))) {
    for (int layer = kLayers - 1; layer >= 0; --layer)
      launch(set_up_weights, 1 + layer, 32, 3);
    wait(stream_);
    paths_.clear();
  }

  void run() {
    for (int step = 1; step <= steps_; ++step) {
      one_step();
      if (step == 1) launches_of_step_ = paths_.size();
      if (step % 50 == 0) {
        float loss = 0;
        check(cudaMemcpyAsync(&loss, loss_, sizeof loss, cudaMemcpyDeviceToHost, stream_), "loss");
        wait(stream_);
      }
      if (step % 200 == 0) evaluate();
      if (step % 20 == 0) wait(stream_);  // fewer launches than a stream's queue is deep
    }
    wait(stream_);
  }

  void print() const {
    std::printf("{\"steps\": %d, \"launches_of_step\": %zu, \"first_kernel\": \"make_batch\"",
                steps_, launches_of_step_);
    if (has_ranges_) {
      std::printf(", \"ranges\": %lld, \"layers\": [", pushed_);
      for (std::size_t i = 0; i < launches_of_step_; ++i)
        std::printf("%s\"%s\"", i == 0 ? "" : ", ", paths_[i].c_str());
      std::printf("]");
    }
    std::printf("}\n");
  }

 private:
  static constexpr int kLayers = 6;

  // A range from here to the end of the scope.
  class Range {
   public:
    Range(Training& training, const std::string& name)
        : training_(training), before_(training.path_.size()) {
      if (!training.has_ranges_) return;
      training.path_ += (training.path_.empty() ? "" : ".") + name;
      ++training.pushed_;
      nvtxRangePushA(name.c_str());
    }
    ~Range() {
      if (!training_.has_ranges_) return;
      training_.path_.resize(before_);
      nvtxRangePop();
    }
    Range(const Range&) = delete;
    Range& operator=(const Range&) = delete;

   private:
    Training& training_;
    std::size_t before_;
  };

  void launch(void (*kernel)(std::int64_t), int blocks, int threads, double us) {
    kernel<<<blocks, threads, 0, stream_>>>(static_cast<std::int64_t>(us * cycles_per_us_));
    check(cudaGetLastError(), "launch");
    if (launches_of_step_ == 0) paths_.push_back(path_);  // in the first step
  }

  static std::string layer_name(int layer) { return "layer" + std::to_string(layer); }

  void forward() {
    const Range range(*this, "forward");
    for (int layer = 0; layer < kLayers; ++layer) {
      const Range inner(*this, layer_name(layer));
      launch(multiply_forward, 1 + layer, 32, 6 + 2 * layer);
      launch(activate, 1 + layer, 64, 4);
    }
  }

  void one_step() {
    if (has_marks_) PROFILE_ITERATION();
    launch(make_batch, 2, 32, 5);
    forward();
    launch(loss_of_batch, 1, 1, 4);
    {
      const Range range(*this, "backward");
      for (int layer = kLayers - 1; layer >= 0; --layer) {
        const Range inner(*this, layer_name(layer));
        launch(multiply_backward, 1 + layer, 32, 6 + 2 * layer);
        launch(multiply_for_weights, 1 + layer, 32, 7 + 2 * layer);
      }
    }
    const Range range(*this, "optimizer");
    for (int layer = 0; layer < kLayers; ++layer)
      launch(update_weights, 1 + layer, 128, 3);
  }

  void evaluate() {
    const Range range(*this, "evaluation");
    for (int batch = 0; batch < 3; ++batch) {
      launch(make_batch, 2, 32, 5);
      forward();
    }
  }

  int steps_;
  bool has_marks_;
  bool has_ranges_;
  cudaStream_t stream_ = make_stream();
  double cycles_per_us_;
  float* loss_;
  std::string path_;
  std::vector<std::string> paths_;  // of the launches of a step
  std::size_t launches_of_step_ = 0;
  long long pushed_ = 0;
};

int run_training(const Options& options) {
  Training training(options);
  training.run();
  training.print();
  return 0;
}

// --- launches that are counted

constexpr int kCensusIterations = 25;
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

int run_streams(const Options&) {
  cudaStream_t first = make_stream();
  cudaStream_t second = nullptr;
  check(cudaStreamCreate(&second), "cudaStreamCreate");  // waits for the legacy stream
  auto* values = static_cast<float*>(take_memory(64 * sizeof(float)));
  for (int i = 0; i < kCensusIterations; ++i) {
    PROFILE_ITERATION();
    add_one<<<1, 32, 0, first>>>(values);
    scale<<<1, 32, 0, first>>>(values, 0.25F);
    add_one<<<1, 32, 0, first>>>(values);
    launch_extended(values, first);
    launch_cooperative(values, first);
    add_one<<<1, 32>>>(values);  // the legacy stream
    std::thread([&] {
      add_one<<<1, 32, 0, second>>>(values + 32);
      check(cudaGetLastError(), "launch on another thread");
    }).join();
    check(cudaGetLastError(), "launch");
  }
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  return 0;
}

int run_graph(const Options&) {
  cudaStream_t stream = make_stream();
  auto* values = static_cast<float*>(take_memory(32 * sizeof(float)));
  cudaGraphExec_t exec = captured_exec(stream, [&] {
    add_one<<<1, 32, 0, stream>>>(values);
    scale<<<1, 32, 0, stream>>>(values, 0.5F);
    add_one<<<1, 32, 0, stream>>>(values);
  });
  for (int i = 0; i < kCensusIterations; ++i) {
    PROFILE_ITERATION();
    for (int replay = 0; replay < kReplaysPerIteration; ++replay)
      check(cudaGraphLaunch(exec, stream), "cudaGraphLaunch");
    scale<<<1, 32, 0, stream>>>(values, 0.5F);  // beside the graph
  }
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  check(cudaGraphExecDestroy(exec), "cudaGraphExecDestroy");
  return 0;
}

// --- results

constexpr int kCount = 1 << 16;
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

// Numbers on a stream of their own.
class Part {
 public:
  Part() {
    check(cudaMalloc(&a_, kBytes), "cudaMalloc");
    check(cudaMalloc(&b_, kBytes), "cudaMalloc");
    start<<<kCount / kThreads, kThreads, 0, stream_>>>(a_);
  }
  void two_steps() {
    relax<<<kCount / kThreads, kThreads, 0, stream_>>>(a_, b_);
    relax<<<kCount / kThreads, kThreads, 0, stream_>>>(b_, a_);
    check(cudaGetLastError(), "launch");
  }
  [[nodiscard]] cudaStream_t stream() const { return stream_; }
  void say(const char* name) {
    std::vector<float> values(kCount);
    check(cudaMemcpyAsync(values.data(), a_, kBytes, cudaMemcpyDeviceToHost, stream_),
          "cudaMemcpyAsync");
    wait(stream_);
    std::printf("%s %016llx\n", name, static_cast<unsigned long long>(sum_of_bits(values)));
    check(cudaFree(a_), "cudaFree");
    check(cudaFree(b_), "cudaFree");
    check(cudaStreamDestroy(stream_), "cudaStreamDestroy");
  }

 private:
  static constexpr std::size_t kBytes = kCount * sizeof(float);

  cudaStream_t stream_ = make_stream();
  float* a_ = nullptr;
  float* b_ = nullptr;
};

void compute(const char* streams_name, const char* graph_name) {
  Part first;
  Part second;
  Part replayed;
  cudaGraphExec_t exec = captured_exec(replayed.stream(), [&] { replayed.two_steps(); });
  for (int i = 0; i < 150; ++i) {
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

int run_results(const Options& options) {
  compute("streams", "graph");
  if (has(options, "--reset")) {
    check(cudaDeviceReset(), "cudaDeviceReset");
    compute("streams after a reset", "graph after a reset");
  }
  return 0;
}

int wrong_command_line() {
  std::fprintf(stderr,
               "usage: loops rate|overhead|paced|training|streams|graph|results [OPTION...]: see "
               "loops.cu\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, int (*)(const Options&)> loops{
      {"rate", run_rate},         {"overhead", run_overhead}, {"paced", run_paced},
      {"training", run_training}, {"streams", run_streams},   {"graph", run_graph},
      {"results", run_results}};
  const auto loop = argc < 2 ? loops.end() : loops.find(argv[1]);
  if (loop == loops.end()) return wrong_command_line();
  Options options;
  for (int i = 2; i < argc; ++i) {
    const std::string name = argv[i];
    const bool has_value = i + 1 < argc && std::string(argv[i + 1]).rfind("--", 0) != 0;
    if (name.rfind("--", 0) != 0) return wrong_command_line();
    options[name] = has_value ? argv[++i] : "1";
  }
  skip_without_gpu();
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  // glibc's mutexes are cheaper in a process that has never had a second thread (19 ns a launch on
  // the simulated GPU).  The injected library's writer is a thread, so let all runs have had one.
  std::thread([] {}).join();
  return loop->second(options);
}
