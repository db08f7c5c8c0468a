#include "model/published/float8/linear.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace inline_prof::model::float8 {
namespace {

constexpr std::array<std::string_view, 3> kPrecisionNames{"bf16", "fp8", "fp4"};
constexpr std::array kElementBytes{2.0, 1.0, 0.5};
constexpr double kOutputBytes = 2.0;  // bf16

std::string_view name_of(Precision precision) {
  return kPrecisionNames[static_cast<std::size_t>(precision)];
}

struct EditionGpu {
  bool is_in_original, is_in_main;
  Gpu gpu;
};

// Peaks in bf16, fp8 and fp4, bandwidth, fractions.  The H100 is a variant with 2.4 TB/s, no SXM;
// the first fractions of the MI300X are those of torchao's pull request 2120.  `original` knows the
// fp4 peak of the B200, but has no product in fp4.  `main` computes the B200's bandwidth from bus
// width, clock and data rate.  That of the RTX 5090 is a thousand times the data sheet's; without
// fractions nobody gets that far.
constexpr Gpu gpu_row(std::string_view name, double bf16, double fp8, double fp4, double bandwidth,
                      double gemm_fraction, double memory_fraction) {
  return {name, {bf16}, {fp8}, {fp4}, {bandwidth}, gemm_fraction, memory_fraction};
}
constexpr double kB200Bandwidth = (7680.0 / 8.0) * 3.996e9 * 2.0;
constexpr std::array<EditionGpu, 8> kGpus{{
    {true, true, gpu_row("NVIDIA H100", 989e12, 1979e12, 0, 2400e9, 0.78, 0.92)},
    {true, false, gpu_row("NVIDIA B200", 2.25e15, 4.5e15, 0, 8000e9, 0.78, 0.92)},
    {false, true, gpu_row("NVIDIA B200", 2.25e15, 4.5e15, 9e15, kB200Bandwidth, 0.78, 0.92)},
    {true, false, gpu_row("AMD Instinct MI300X", 1307e12, 2614e12, 0, 5300e9, 0.47, 0.72)},
    {false, true, gpu_row("AMD Instinct MI300X", 1307e12, 2614e12, 0, 5300e9, 0.78, 0.92)},
    {false, true, gpu_row("NVIDIA B300 SXM6 AC", 2.25e15, 4.5e15, 14e15, 8000e9, 0.82, 0.84)},
    {false, true, gpu_row("NVIDIA GB200", 2.25e15, 4.5e15, 9e15, 8000e9, 0.78, 0.92)},
    {false, true, gpu_row("NVIDIA GeForce RTX 5090", 209.5e12, 419e12, 1676e12, 1792e12, 0, 0)},
}};

bool is_of(const EditionGpu& gpu, ConstantSet constants) {
  return constants == ConstantSet::kOriginal ? gpu.is_in_original : gpu.is_in_main;
}

double elements_read(const Gemm& gemm) {
  const double elements = gemm.m * gemm.k + gemm.k * gemm.n;
  return gemm.scale_block == 0 ? elements : elements + std::floor(elements / gemm.scale_block);
}

double element_bytes(Precision precision) {
  return kElementBytes[static_cast<std::size_t>(precision)];
}

}  // namespace

std::vector<const Gpu*> known_gpus(ConstantSet constants) {
  std::vector<const Gpu*> known;
  for (const EditionGpu& each : kGpus) {
    if (is_of(each, constants)) known.push_back(&each.gpu);
  }
  return known;
}

const Gpu* find_gpu(std::string_view name, ConstantSet constants) {
  const auto known = known_gpus(constants);
  const auto exact = std::ranges::find(known, name, &Gpu::name);
  if (exact != known.end()) return *exact;
  if (constants == ConstantSet::kOriginal) return nullptr;
  const auto start =
      std::ranges::find_if(known, [&](const Gpu* gpu) { return name.starts_with(gpu->name); });
  return start == known.end() ? nullptr : *start;
}

const Gpu& look_up_gpu(std::string_view name, Precision precision, ConstantSet constants) {
  const Gpu* gpu = find_gpu(name, constants);
  if (gpu == nullptr) {
    std::vector<std::string_view> names;
    for (const Gpu* known : known_gpus(constants))
      names.push_back(known->name);
    throw Refusal{"KeyError", fmt::format("gpu {} is none of {}", name, fmt::join(names, ", "))};
  }
  if (!(gpu->gemm_fraction > 0) || !(gpu->memory_fraction > 0)) {
    throw Refusal{"KeyError", fmt::format("{} has no reachable fractions", gpu->name)};
  }
  if (!(gpu->peak(precision).value > 0)) {
    throw Refusal{"KeyError", fmt::format("{} has no peak for {}", gpu->name, name_of(precision))};
  }
  return *gpu;
}

std::string_view GemmTime::bound() const {
  if (compute >= memory && compute >= kLaunchFloor) return "compute";
  return memory >= kLaunchFloor ? "memory" : "launch";
}

GemmTime time_gemm(const Gpu& gpu, const Gemm& gemm) {
  const FlopPerSecond peak = gpu.peak(gemm.precision);
  if (!(peak.value > 0) || !(gpu.gemm_fraction > 0) || !(gpu.memory_fraction > 0)) {
    throw std::invalid_argument(
        fmt::format("{} has no numbers for {}", gpu.name, name_of(gemm.precision)));
  }
  const Flop work{2.0 * gemm.m * gemm.k * gemm.n};
  GemmTime result;
  result.traffic = {elements_read(gemm) * element_bytes(gemm.precision) +
                    gemm.m * gemm.n * kOutputBytes};
  result.compute = {(work / peak).value / gpu.gemm_fraction};
  result.memory = {(result.traffic / gpu.bandwidth).value / gpu.memory_fraction};
  result.time = std::max({result.compute, result.memory, kLaunchFloor});
  return result;
}

CastKernel cast_kernel(const Gpu& gpu, double bytes_per_element, double elements,
                       double extra_bytes) {
  const Bytes traffic{bytes_per_element * elements + extra_bytes};
  return {traffic,
          std::max(Seconds{(traffic / gpu.bandwidth).value / gpu.memory_fraction}, kLaunchFloor)};
}

std::vector<CastKernel> blockwise_casts(const Gpu& gpu, const LinearShape& shape, bool fused) {
  constexpr double block = 128, scale_bytes = 4, bf16_read = 2, fp8_written = 1;
  const auto [m, k, n] = shape;
  const auto activation = [&](double elements, bool is_fused) {
    return cast_kernel(gpu, is_fused ? fp8_written : bf16_read + fp8_written, elements,
                       scale_bytes * (elements / block));
  };
  const CastKernel weight =
      cast_kernel(gpu, bf16_read + fp8_written, n * k, scale_bytes * (n * k / (block * block)));
  return {
      activation(m * k, fused), weight, weight, activation(m * n, fused), activation(m * n, false),
      activation(m * k, false)};
}

}  // namespace inline_prof::model::float8
