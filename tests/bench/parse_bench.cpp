// How fast a large prof.json is read, and how much memory that takes.
//
//   parse_bench      256 MiB made of the real file in tests/data/hugectr, and 256 MiB of the third
//                    generation with short numbers, 50 samples and 1 sample an event
//
// Wanted: 400 MB/s of processor time on one core, and at most three times the file in memory.
// peak_per_byte is the highest resident size while reading, less what stood there before, by the
// size of the file; the text itself, which read_profile owns, is in it.
#include "large_profile.hpp"
#include "read/file_text.hpp"
#include "read/prof_json/prof_json.hpp"
#include "read/read_profile.hpp"

#include <benchmark/benchmark.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <utility>

namespace inline_prof {
namespace {

// A file with the events of the real one, again and again.
std::string large_text(std::size_t bytes) {
  const std::string real =
      read::read_text(INLINE_PROF_TEST_DATA "/hugectr/dlrm_a100_8gpu.prof.json");
  const std::string begin = "\"events\": [";
  const std::size_t first = real.find('{', real.find("\"events\""));
  const std::size_t last = real.rfind(']', real.find("\"host_name\""));
  const std::string events = real.substr(first, last - first);
  std::string text = "{" + begin;
  text.reserve(bytes + real.size() + read::kPaddingBytes);
  while (text.size() < bytes) {
    if (text.size() > begin.size() + 1) text += ",";
    text += events;
  }
  text += "], \"host_name\": \"n\", \"iter_time_ms\": [1.0]}";
  return text;
}

// Resident bytes, now or at their highest since the last reset.
double resident_bytes(const char* key) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kib = 0;
    if (word == key && status >> kib) return kib * 1024;
  }
  return 0;
}

void reset_peak() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

void read_text_of(benchmark::State& state, const std::string& text) {
  double peak_bytes = 0;
  for (auto _ : state) {
    state.PauseTiming();
    reset_peak();
    const double before_bytes = resident_bytes("VmRSS:");
    std::string copy;
    copy.reserve(text.size() + read::kPaddingBytes);
    copy = text;
    state.ResumeTiming();
    const read::Profile profile = read::read_profile(std::move(copy), "large");
    benchmark::DoNotOptimize(profile.events.size());
    state.PauseTiming();
    peak_bytes = resident_bytes("VmHWM:") - before_bytes;
    state.ResumeTiming();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
  state.counters["peak_per_byte"] = peak_bytes / static_cast<double>(text.size());
}

void read_first_generation(benchmark::State& state) {
  read_text_of(state, large_text(static_cast<std::size_t>(state.range(0)) << 20));
}
BENCHMARK(read_first_generation)->Arg(256)->Unit(benchmark::kMillisecond);

void read_third_generation(benchmark::State& state) {
  read_text_of(state, test::large_third_generation(static_cast<std::size_t>(state.range(0)) << 20,
                                                   static_cast<std::size_t>(state.range(1))));
}
BENCHMARK(read_third_generation)->Args({256, 50})->Args({256, 1})->Unit(benchmark::kMillisecond);

// The slow half, on a tenth of it: what an error in a large file costs.
void read_with_places(benchmark::State& state) {
  const std::string text = large_text(static_cast<std::size_t>(state.range(0)) << 20);
  for (auto _ : state) {
    benchmark::DoNotOptimize(read::read_prof_json_from_tree(text, "large").events.size());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(read_with_places)->Arg(25)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace inline_prof
