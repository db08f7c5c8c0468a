// Measures the cost of the search for iterations per launch: the whole search over all recordings,
// and over launches without any iterations.
#include "launch_recording.hpp"
#include "schedule/iteration_finder.hpp"

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <random>

namespace {

using inline_prof::schedule::IterationFinder;
namespace programs = inline_prof::schedule::test;

void search(benchmark::State& state, const programs::Sequence& sequence) {
  std::int64_t added = 0;
  bool is_found = false;
  for (auto _ : state) {
    IterationFinder finder;
    for (const programs::Call& call : sequence.calls()) {
      if (call.host_waits_before) finder.add_wait();
      if (call.is_another_thread) finder.add_turn();
      if (call.bytes_reduced_before != 0) finder.add_reduction(call.bytes_reduced_before);
      benchmark::DoNotOptimize(finder.add(call.symbol, call.kernels, call.updates));
    }
    is_found = finder.found().has_value();
    added += static_cast<std::int64_t>(sequence.calls().size());
  }
  state.counters["found"] = is_found ? 1 : 0;
  state.counters["launch"] = benchmark::Counter(
      static_cast<double>(added), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

programs::Sequence random_launches(std::size_t kernels) {
  std::mt19937_64 random(1);
  programs::Sequence sequence;
  for (int i = 0; i < 1'000'000; ++i)
    sequence.launch(static_cast<std::uint32_t>(random() % kernels));
  return sequence;
}

}  // namespace

int main(int count, char** arguments) {
  benchmark::RegisterBenchmark("no_iteration/random", search, random_launches(100));
  benchmark::RegisterBenchmark("no_iteration/one_kernel", search, random_launches(1));
  for (const auto& [name, sequence] : programs::recorded_sequences())
    benchmark::RegisterBenchmark(("recorded/" + name).c_str(), search, sequence);
  benchmark::Initialize(&count, arguments);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
