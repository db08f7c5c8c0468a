// Measures what the injected library adds to a vendor call that it describes, and to an NVTX range.
//
//   empty/...    a function with cuBLAS's signature that only returns
//   cublas/...   cublasSgemm of the simulated cuBLAS, on a driver whose launch only returns
//   nvtx/...     nvtxRangePushA and nvtxRangePop of the injected library
//
// Each pair is measured side by side in one process, in randomly interleaved repetitions: `direct`
// is the function's own address, `injected` the pointer that dlsym gives under the injected
// library, both while the injected library is measuring.  Prints Google Benchmark's table, then the
// medians and what the injected library adds.  The program starts itself again with the injected
// library preloaded.
#include <inline_prof/profile.h>

#include <cublas_v2.h>
#include <cuda.h>
#include <nvtx3/nvToolsExt.h>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <map>
#include <sched.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

// dlsym's version in every glibc of this machine.
#if defined(__aarch64__)
constexpr const char* kVersion = "GLIBC_2.17";
#else
constexpr const char* kVersion = "GLIBC_2.2.5";
#endif
constexpr int kWarmup = 3;
constexpr double kMostAddedNs = 60;
constexpr double kMostRangeNs = 25;

using Sgemm = decltype(&cublasSgemm_v2);

struct Bench {
  Sgemm direct = nullptr;
  Sgemm hooked = nullptr;
  Sgemm empty_direct = nullptr;
  Sgemm empty_hooked = nullptr;
  cublasHandle_t handle = nullptr;
  CUfunction armed = nullptr;
  CUstream stream = nullptr;
};
Bench bench;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "words_bench: %s failed\n", what);
  std::exit(1);
}

void start_again_with_library(char** argv) {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("inline_prof_words_bench_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  setenv("LD_PRELOAD", INLINE_PROF_BENCH_LIBRARY, 1);
  setenv("LD_LIBRARY_PATH", INLINE_PROF_BENCH_SIMGPU, 1);
  setenv("SIMGPU_LAUNCH", "null", 1);
  setenv("INLINE_PROF_DIR", folder.c_str(), 1);
  setenv("INLINE_PROF_WARMUP", std::to_string(kWarmup).c_str(), 1);
  setenv("INLINE_PROF_LOG", "quiet", 1);
  setenv("INLINE_PROF_BENCH_FOLDER", folder.c_str(), 1);
  execv("/proc/self/exe", argv);
  fail("execv");
}

void find_both(const char* library_name, Sgemm& direct, Sgemm& hooked) {
  void* library = dlopen(library_name, RTLD_NOW);
  void* libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr || libc == nullptr) fail(library_name);
  // glibc's own dlsym leads past the injected library's.
  const auto original_dlsym =
      reinterpret_cast<void* (*)(void*, const char*)>(dlvsym(libc, "dlsym", kVersion));
  direct = reinterpret_cast<Sgemm>(original_dlsym(library, "cublasSgemm_v2"));
  hooked = reinterpret_cast<Sgemm>(dlsym(library, "cublasSgemm_v2"));
  if (direct == hooked) fail("finding the injected library");
}

void multiply(Sgemm sgemm) {
  const float one = 1;
  benchmark::DoNotOptimize(sgemm(bench.handle, CUBLAS_OP_N, CUBLAS_OP_N, 64, 64, 64, &one, nullptr,
                                 64, nullptr, 64, &one, nullptr, 64));
}

void run(benchmark::State& state, Sgemm sgemm) {
  for (auto _ : state)
    multiply(sgemm);
}

void run_nvtx(benchmark::State& state) {
  for (auto _ : state) {
    nvtxRangePushA("layer");
    nvtxRangePop();
  }
}

// Medians of the repetitions, beside the usual table.
class Collector : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& each : runs) {
      if (each.run_type == Run::RT_Iteration && each.iterations > 0) {
        times_ns_[each.run_name.function_name].push_back(each.GetAdjustedCPUTime());
      }
    }
    ConsoleReporter::ReportRuns(runs);
  }
  double median_ns(const std::string& name) {
    auto& times = times_ns_[name];
    if (times.empty()) fail(name.c_str());
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }

 private:
  std::map<std::string, std::vector<double>> times_ns_;
};

void start_measuring() {
  if (cuInit(0) != CUDA_SUCCESS) fail("cuInit");
  CUcontext context = nullptr;
  if (cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS) fail("context");
  cuCtxSetCurrent(context);
  if (cublasCreate_v2(&bench.handle) != CUBLAS_STATUS_SUCCESS) fail("cublasCreate");
  // The last iteration never ends: the injected library measures, and what is armed is met once.
  for (int i = 0; i <= kWarmup; ++i) {
    PROFILE_ITERATION();
    for (int call = 0; call < 10; ++call)
      multiply(bench.hooked);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (std::getenv("INLINE_PROF_BENCH_FOLDER") == nullptr) start_again_with_library(argv);
  const std::filesystem::path folder = std::getenv("INLINE_PROF_BENCH_FOLDER");

  cpu_set_t one_core;
  CPU_ZERO(&one_core);
  CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one_core);
  sched_setaffinity(0, sizeof one_core, &one_core);

  // Defaults first: what the user gives comes later and wins.
  std::vector<std::string> arguments{argv[0], "--benchmark_repetitions=15",
                                     "--benchmark_enable_random_interleaving=true",
                                     "--benchmark_min_time=0.02"};
  for (int i = 1; i < argc; ++i)
    arguments.emplace_back(argv[i]);
  std::vector<char*> pointers;
  pointers.reserve(arguments.size());
  for (std::string& argument : arguments)
    pointers.push_back(argument.data());
  int count = static_cast<int>(pointers.size());
  benchmark::Initialize(&count, pointers.data());

  find_both("libcublas.so.13", bench.direct, bench.hooked);
  find_both(INLINE_PROF_BENCH_EMPTY, bench.empty_direct, bench.empty_hooked);
  start_measuring();

  Collector collector;
  benchmark::RegisterBenchmark("empty/direct", run, bench.empty_direct);
  benchmark::RegisterBenchmark("empty/injected", run, bench.empty_hooked);
  benchmark::RegisterBenchmark("cublas/direct", run, bench.direct);
  benchmark::RegisterBenchmark("cublas/injected", run, bench.hooked);
  benchmark::RegisterBenchmark("nvtx/push_pop", run_nvtx);
  benchmark::RunSpecifiedBenchmarks(&collector);

  std::printf("\nMedians of interleaved repetitions\n");
  for (const char* what : {"empty", "cublas"}) {
    const double direct = collector.median_ns(std::string(what) + "/direct");
    const double injected = collector.median_ns(std::string(what) + "/injected");
    std::printf("%-8s direct %8.1f ns, injected %8.1f ns, +%.1f ns, x%.3f\n", what, direct,
                injected, injected - direct, injected / direct);
  }
  const double added = collector.median_ns("empty/injected") - collector.median_ns("empty/direct");
  const double range = collector.median_ns("nvtx/push_pop");
  std::printf("nvtx     push and pop %.1f ns\n", range);
  std::printf("goals: a vendor call <= +%.0f ns %s, push and pop <= %.0f ns %s\n", kMostAddedNs,
              added <= kMostAddedNs ? "met" : "MISSED", kMostRangeNs,
              range <= kMostRangeNs ? "met" : "MISSED");
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return 0;
}
