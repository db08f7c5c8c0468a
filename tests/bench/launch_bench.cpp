// Measures what the injected library adds to a launch that it does not measure.
//
// Four ways to launch the same 64 kernels on the same 4 streams, side by side in one process, in
// randomly interleaved repetitions against a simulated driver whose launch only returns:
//
//   direct     the driver's own address
//   discovery  through the injected library, while every launch is counted
//   measuring  through the injected library, while one other kernel is armed
//   original   the direct address, with the bookkeeping shape of HugeCTR's inline profiler around
//              it: two labels a launch, each a substr, a mutex, a map of streams and a map of
//              strings
//
// And a graph's replay and a copy on the device, direct and through the injected library while a
// kernel is armed; the copy also while every one is counted.
//
// --two-threads: a second thread has launched on the same streams before, so that launches are
// marked (libinject/timer/stream_sharing.hpp).
//
// Prints Google Benchmark's table, then the medians and what each adds to `direct`.  The program
// starts itself again with the injected library preloaded.
#include "host.hpp"
#include "injected.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <mutex>

namespace {

constexpr std::size_t kKernels = 64;
constexpr std::size_t kStreams = 4;
constexpr std::size_t kBytes = 4096;
constexpr int kWarmup = 10;
constexpr int kFirstMeasured = 12;

using LaunchKernel = decltype(&cuLaunchKernel);

// The driver's own address of a function, and the injected library's.
template <typename Function>
struct Both {
  Function direct = nullptr;
  Function hooked = nullptr;
};

struct Bench {
  Both<LaunchKernel> launch;
  Both<decltype(&cuGraphLaunch)> replay;
  Both<decltype(&cuMemcpyDtoDAsync)> copy;
  std::array<CUdeviceptr, 2> memory{};
  CUgraphExec exec = nullptr;
  CUfunction armed = nullptr;
  std::vector<CUfunction> kernels;
  std::array<CUstream, kStreams> streams{};
};
Bench it;

// --- set-up

void find_functions() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) bench::fail("dlopen");
  using GetProcAddress = decltype(&cuGetProcAddress_v2);
  const auto direct =
      reinterpret_cast<GetProcAddress>(bench::find_original(driver, "cuGetProcAddress_v2"));
  const auto hooked = reinterpret_cast<GetProcAddress>(dlsym(driver, "cuGetProcAddress_v2"));
  const auto find = [&]<typename Function>(Both<Function>& both, const char* name, int version) {
    void* address = nullptr;
    CUdriverProcAddressQueryResult status{};
    CHECK(direct(name, &address, version, 0, &status));
    both.direct = reinterpret_cast<Function>(address);
    CHECK(hooked(name, &address, version, 0, &status));
    both.hooked = reinterpret_cast<Function>(address);
    if (both.direct == both.hooked) bench::fail("finding the injected library");
  };
  find(it.launch, "cuLaunchKernel", 4000);
  find(it.replay, "cuGraphLaunch", 10000);
  find(it.copy, "cuMemcpyDtoDAsync", 3020);
}

void make_kernels() {
  host::open_context();
  it.armed = host::load_kernels({"armed_kernel"}).front();
  it.kernels = host::load_numbered_kernels(static_cast<int>(kKernels));
  for (CUstream& stream : it.streams)
    stream = host::open_stream();
  for (CUdeviceptr& memory : it.memory)
    CHECK(cuMemAlloc(&memory, kBytes));
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CHECK(cuGraphCreate(&graph, 0));
  CHECK(cuGraphAddEmptyNode(&node, graph, nullptr, 0));
  it.exec = host::instantiated(graph);
}

void launch(LaunchKernel launch_kernel, CUfunction kernel, CUstream stream) {
  benchmark::DoNotOptimize(launch_kernel(kernel, 64, 1, 1, 256, 1, 1, 0, stream, nullptr, nullptr));
}

template <typename EachLaunch>
void launch_all(const EachLaunch& each) {
  for (CUstream stream : it.streams) {
    for (CUfunction kernel : it.kernels)
      each(kernel, stream);
  }
}

// --- the original's shape: what it did at each PROFILE_RECORD, as its documentation tells it

class OriginalBookkeeping {
 public:
  void record(const std::string& label, CUstream stream) {
    const auto dot = label.rfind('.');
    const std::string name = label.substr(0, dot);
    const std::string type = label.substr(dot + 1);
    const std::lock_guard lock(mutex_);
    auto& met = met_times_[stream];
    auto [times, is_new] = met.try_emplace(name, 0);
    if (type == "start") {
      benchmark::DoNotOptimize(name == target_ && times->second == 0);
    } else {
      ++times->second;
    }
  }

 private:
  std::mutex mutex_;
  std::map<CUstream, std::map<std::string, int>> met_times_;
  std::string target_ = "armed.event";
};

// --- benchmarks

template <typename EachLaunch>
void run(benchmark::State& state, const EachLaunch& each) {
  for (auto _ : state)
    launch_all(each);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kKernels * kStreams));
}

void launches(benchmark::State& state, LaunchKernel function) {
  run(state, [&](CUfunction kernel, CUstream stream) { launch(function, kernel, stream); });
}

void original(benchmark::State& state) {
  static OriginalBookkeeping bookkeeping;
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < kKernels; ++i)
      all.push_back("TopMLP.fc" + std::to_string(i) + ".fused_fully_connected.fprop");
    return all;
  }();
  std::size_t i = 0;
  run(state, [&](CUfunction kernel, CUstream stream) {
    const std::string& name = names[i++ % kKernels];
    bookkeeping.record(name + ".start", stream);
    launch(it.launch.direct, kernel, stream);
    bookkeeping.record(name + ".stop", stream);
  });
}

void replay(benchmark::State& state, decltype(&cuGraphLaunch) function) {
  run(state,
      [&](CUfunction, CUstream stream) { benchmark::DoNotOptimize(function(it.exec, stream)); });
}

void copy(benchmark::State& state, decltype(&cuMemcpyDtoDAsync) function) {
  run(state, [&](CUfunction, CUstream stream) {
    benchmark::DoNotOptimize(function(it.memory[1], it.memory[0], kBytes, stream));
  });
}

template <typename Work, typename Function>
void register_both(const std::string& name, const Work& work, const Both<Function>& both) {
  benchmark::RegisterBenchmark((name + "/direct").c_str(), work, both.direct);
  benchmark::RegisterBenchmark((name + "/injected").c_str(), work, both.hooked);
}

// Returns the name of a file that asks for one kernel.
std::string schedule_file() {
  const auto file = std::filesystem::temp_directory_path() / "inline_prof_launch_bench.events";
  std::ofstream(file) << "armed_kernel\n";
  return file.string();
}

// Added times below this are noise; a ratio to them would say nothing.
constexpr double kSmallestAddedNs = 0.5;

void print_line(const char* name, double median, double base) {
  std::printf("%-22s %8.2f ns a launch %+9.2f ns\n", name, median, median - base);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> options(argv + 1, argv + argc);
  const bool two_threads = std::erase(options, "--two-threads") > 0;
  // The same launches again and again would be taken for iterations.
  bench::start_again_with_library(argv, {{"INLINE_PROF_SCHEDULE", schedule_file()},
                                         {"INLINE_PROF_WARMUP", std::to_string(kWarmup)},
                                         {"INLINE_PROF_REPEAT", "1000"},
                                         {"INLINE_PROF_ITERATION", "macro"}});
  bench::initialize(argv[0], options);

  find_functions();
  make_kernels();

  bench::Collector collector(static_cast<double>(kKernels * kStreams));
  // No iteration has begun: once each kernel has been launched often enough, the injected library
  // only counts.
  const auto launch_often = [] {
    for (int i = 0; i < 5000; ++i)
      launch_all(
          [](CUfunction kernel, CUstream stream) { launch(it.launch.hooked, kernel, stream); });
  };
  launch_often();
  if (two_threads) std::thread(launch_often).join();
  register_both("discovery", launches, it.launch);
  register_both("counted copy", copy, it.copy);
  benchmark::RunSpecifiedBenchmarks(&collector);
  benchmark::ClearRegisteredBenchmarks();

  // The warm-up, the first measured iterations, in which every launch is checked (threads, and
  // launches that phases are told from), and one that never ends: one kernel stays armed.
  const auto step = [] {
    launch(it.launch.hooked, it.armed, it.streams[0]);
    launch_all(
        [](CUfunction kernel, CUstream stream) { launch(it.launch.hooked, kernel, stream); });
  };
  for (int i = 0; i < kWarmup + kFirstMeasured; ++i) {
    PROFILE_ITERATION();
    step();
    if (two_threads) std::thread(step).join();
  }
  PROFILE_ITERATION();
  launch(it.launch.hooked, it.armed, it.streams[0]);
  register_both("measuring", launches, it.launch);
  benchmark::RegisterBenchmark("measuring/original", original);
  register_both("replay", replay, it.replay);
  register_both("copy", copy, it.copy);
  benchmark::RunSpecifiedBenchmarks(&collector);

  const double discovery_base = collector.median_ns("discovery/direct");
  const double discovery = collector.median_ns("discovery/injected");
  const double base = collector.median_ns("measuring/direct");
  const double measuring = collector.median_ns("measuring/injected");
  const double with_original = collector.median_ns("measuring/original");
  std::printf("\nMedians of interleaved repetitions\n");
  print_line("direct", base, base);
  print_line("measuring", measuring, base);
  print_line("discovery", discovery, discovery_base);
  print_line("original's bookkeeping", with_original, base);
  const double replay_base = collector.median_ns("replay/direct");
  const double replayed = collector.median_ns("replay/injected");
  print_line("replay, direct", replay_base, replay_base);
  print_line("replay", replayed, replay_base);
  const double copy_base = collector.median_ns("copy/direct");
  print_line("copy, direct", copy_base, copy_base);
  print_line("copy", collector.median_ns("copy/injected"), copy_base);
  print_line("copy that is counted", collector.median_ns("counted copy/injected"),
             collector.median_ns("counted copy/direct"));
  const double ratio = (with_original - base) / std::max(measuring - base, kSmallestAddedNs);
  std::printf("the original's bookkeeping adds %.0f times what measuring adds\n", ratio);
  std::printf(
      "goals: measuring <= +3 ns %s, discovery <= +8 ns %s, >= 40 times %s, replay <= +10 ns %s\n",
      measuring - base <= 3 ? "met" : "MISSED", discovery - discovery_base <= 8 ? "met" : "MISSED",
      ratio >= 40 ? "met" : "MISSED", replayed - replay_base <= 10 ? "met" : "MISSED");
  bench::remove_folder();
  return 0;
}
