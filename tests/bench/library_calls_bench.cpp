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
#include "host.hpp"
#include "injected.hpp"

#include <cublas_v2.h>
#include <nvtx3/nvToolsExt.h>

#include <benchmark/benchmark.h>

namespace {

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
};
Bench it;

void find_both(const char* library_name, Sgemm& direct, Sgemm& hooked) {
  void* library = dlopen(library_name, RTLD_NOW);
  if (library == nullptr) bench::fail(library_name);
  direct = reinterpret_cast<Sgemm>(bench::find_original(library, "cublasSgemm_v2"));
  hooked = reinterpret_cast<Sgemm>(dlsym(library, "cublasSgemm_v2"));
  if (direct == hooked) bench::fail("finding the injected library");
}

void multiply(Sgemm sgemm) {
  const float one = 1;
  benchmark::DoNotOptimize(sgemm(it.handle, CUBLAS_OP_N, CUBLAS_OP_N, 64, 64, 64, &one, nullptr, 64,
                                 nullptr, 64, &one, nullptr, 64));
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

void start_measuring() {
  host::open_context();
  CHECK(cublasCreate_v2(&it.handle));
  // The last iteration never ends: the injected library measures, and an armed event comes once.
  for (int i = 0; i <= kWarmup; ++i) {
    PROFILE_ITERATION();
    for (int call = 0; call < 10; ++call)
      multiply(it.hooked);
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::start_again_with_library(argv, {{"INLINE_PROF_WARMUP", std::to_string(kWarmup)}});
  bench::initialize(argv[0], {argv + 1, argv + argc});
  find_both("libcublas.so.13", it.direct, it.hooked);
  find_both(INLINE_PROF_BENCH_EMPTY, it.empty_direct, it.empty_hooked);
  start_measuring();

  bench::Collector collector(1);
  benchmark::RegisterBenchmark("empty/direct", run, it.empty_direct);
  benchmark::RegisterBenchmark("empty/injected", run, it.empty_hooked);
  benchmark::RegisterBenchmark("cublas/direct", run, it.direct);
  benchmark::RegisterBenchmark("cublas/injected", run, it.hooked);
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
  bench::remove_folder();
  return 0;
}
