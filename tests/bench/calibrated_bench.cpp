// Measures a prediction of the calibrated models.
#include "model/calibrated/embedding/embedding.hpp"
#include "model/calibrated/gemm/gemm.hpp"
#include "model/machines.hpp"
#include "model/shipped_parameters.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <random>

namespace {

using namespace inline_prof;

read::Machine h200() {
  return model::choose_machine("h200-sxm-141gb", model::builtin_machines());
}

model::CalibratedGemm shipped_gemm() {
  return {model::choose_parameters("gemm_h200-sxm-141gb_bf16", "gemm"), h200()};
}

model::GemmShape any_shape(std::mt19937& random) {
  const auto side = [&] { return static_cast<double>(1 + random() % 8192); };
  return {side(), side(), side(), 1};
}

void gemm_time(benchmark::State& state) {
  const auto gemm = shipped_gemm();
  std::mt19937 random(1);
  for (auto _ : state)
    benchmark::DoNotOptimize(gemm.time_us(any_shape(random)));
}
BENCHMARK(gemm_time);

void gemm_interval(benchmark::State& state) {
  const auto gemm = shipped_gemm();
  std::mt19937 random(1);
  for (auto _ : state)
    benchmark::DoNotOptimize(gemm.predict(any_shape(random)).estimate.upper_us);
}
BENCHMARK(gemm_interval);

void embedding(benchmark::State& state) {
  const read::Machine machine = h200();
  model::EmbeddingShape shape;
  shape.batch = 2048;
  shape.tables = 26;
  shape.rows = 1e8;
  shape.bag = 32;
  shape.dim = 128;
  for (auto _ : state) {
    const auto indices = model::IndexDistribution::zipf(shape.rows, 1.05);
    benchmark::DoNotOptimize(model::predict_embedding(shape, indices, machine).time_us);
  }
}
BENCHMARK(embedding);

}  // namespace
