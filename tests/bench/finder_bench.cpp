// Measures the cost of the search for iterations per launch: the whole search over the launches of
// programs that have iterations, and of some that have none, and of all recordings.
#include "launch_program.hpp"
#include "launch_recording.hpp"
#include "schedule/iteration_finder.hpp"

#include <benchmark/benchmark.h>

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace {

using inline_prof::schedule::IterationFinder;
namespace programs = inline_prof::schedule::test;

void search(benchmark::State& state, const std::vector<std::uint32_t>& launches) {
  std::int64_t added = 0;
  bool is_found = false;
  for (auto _ : state) {
    IterationFinder finder;
    for (const std::uint32_t kernel : launches)
      benchmark::DoNotOptimize(finder.add(kernel));
    is_found = finder.found().has_value();
    added += static_cast<std::int64_t>(launches.size());
  }
  state.counters["found"] = is_found ? 1 : 0;
  state.counters["launch"] = benchmark::Counter(
      static_cast<double>(added), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

std::vector<std::uint32_t> random_launches(std::size_t count, std::size_t kernels) {
  programs::LaunchProgram program(1);
  for (std::size_t i = 0; i < count; ++i)
    program.launch(static_cast<std::uint32_t>(program.below(kernels)));
  return program.launches();
}

// With the host's waits and copies, and graphs.
void search_recorded(benchmark::State& state, const std::string& name) {
  const programs::Sequence sequence = programs::sequence_of(
      programs::read_recording(INLINE_PROF_TEST_DATA "/recordings/" + name + ".txt"));
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

}  // namespace

BENCHMARK_CAPTURE(search, plain, programs::plain(1, 24, 40).launches());
BENCHMARK_CAPTURE(search, plain_until_found, programs::plain(1, 24, 12).launches());
BENCHMARK_CAPTURE(search, plain_of_1000_iterations, programs::plain(1, 24, 1000).launches());
BENCHMARK_CAPTURE(search, accumulation_of_16, programs::accumulation(1, 24, 40, 16).launches());
BENCHMARK_CAPTURE(search, no_iteration_batches, programs::batches(7, 5, 20'000).launches());
BENCHMARK_CAPTURE(search, no_iteration_random, random_launches(1'000'000, 100));
BENCHMARK_CAPTURE(search, no_iteration_one_kernel, std::vector<std::uint32_t>(1'000'000, 7));

int main(int count, char** arguments) {
  namespace fs = std::filesystem;
  std::set<std::string> names;
  for (const auto& file : fs::directory_iterator(INLINE_PROF_TEST_DATA "/recordings"))
    if (file.path().extension() == ".txt") names.insert(file.path().stem());
  for (const std::string& name : names)
    benchmark::RegisterBenchmark(("recorded/" + name).c_str(), search_recorded, name);
  benchmark::Initialize(&count, arguments);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
