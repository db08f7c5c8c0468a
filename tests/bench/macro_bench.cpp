// Measures one PROFILE_RECORD in the application: at most 5 ns without the library, at most 20 ns
// while the library has closed the call site.  The loop itself is `nothing`.
//
// The table is this program's own and does nothing, so that all states can be had without a GPU;
// what the real library does behind an open gate is not in these numbers.
#include <inline_prof/profile.h>

#include <benchmark/benchmark.h>

#include <string>

namespace {

constexpr uint32_t kClosed = 0;
constexpr uint32_t kOpen = 1;
uint32_t gate = kOpen;

void record(inline_prof_site* site, const char*, void*, int, int, const char*) {
  if (site != nullptr) __atomic_store_n(&site->gate, &gate, __ATOMIC_RELEASE);
}
void scope_push(const char*, void*) {}
void scope_pop() {}

constexpr inline_prof_abi kTable = [] {
  inline_prof_abi table{};
  table.size = sizeof(inline_prof_abi);
  table.record = record;
  table.scope_push = scope_push;
  table.scope_pop = scope_pop;
  return table;
}();

// The state in which the macros find the process.
void set_state(const inline_prof_abi* table, uint32_t gate_state) {
  __atomic_store_n(&inline_prof_table_v1, table, __ATOMIC_RELEASE);
  __atomic_store_n(&gate, gate_state, __ATOMIC_RELAXED);
}

// Not inlined, so that all states share one call site.
__attribute__((noinline)) void record_once(void* stream) {
  PROFILE_RECORD("a.start", stream);
}
__attribute__((noinline)) void record_nothing(void* stream) {
  benchmark::DoNotOptimize(stream);
}

void nothing(benchmark::State& state) {
  for (auto _ : state)
    record_nothing(&state);
}
BENCHMARK(nothing);

void without_library(benchmark::State& state) {
  set_state(nullptr, kOpen);
  for (auto _ : state)
    record_once(&state);
}
BENCHMARK(without_library);

void gate_closed(benchmark::State& state) {
  set_state(&kTable, kOpen);
  record_once(&state);  // now the site knows its gate
  set_state(&kTable, kClosed);
  for (auto _ : state)
    record_once(&state);
}
BENCHMARK(gate_closed);

void gate_open(benchmark::State& state) {
  set_state(&kTable, kOpen);
  for (auto _ : state)
    record_once(&state);
}
BENCHMARK(gate_open);

// A label that can change has no site, hence no gate.
void label_not_a_literal(benchmark::State& state) {
  set_state(&kTable, kClosed);
  const std::string label = "a.start";
  for (auto _ : state)
    PROFILE_RECORD(label, &state);
}
BENCHMARK(label_not_a_literal);

void scope(benchmark::State& state) {
  set_state(&kTable, kOpen);
  for (auto _ : state)
    PROFILE_SCOPE("layer", &state);
}
BENCHMARK(scope);

}  // namespace
