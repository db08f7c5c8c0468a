#include "model/published/float8/gpus.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace inline_prof::model::float8 {
namespace {

constexpr FlopPerSecond peta(double petaflops) {
  return tera_flop_per_second(1e3 * petaflops);
}

// pytorch/ao at fe5bf73a6 (2025-03-27), torchao/testing/training/roofline_utils.py.  The H100 is a
// variant with 2.4 TB/s, no SXM; the fractions of the MI300X are those of pull request 2120.
constexpr std::array kOriginalGpus{
    Gpu{.name = "NVIDIA H100",
        .bf16_peak = tera_flop_per_second(989),
        .fp8_peak = tera_flop_per_second(1979),
        .fp4_peak = {},
        .bandwidth = giga_bytes_per_second(2400),
        .gemm_fraction = 0.78,
        .memory_fraction = 0.92},
    Gpu{.name = "NVIDIA B200",
        .bf16_peak = peta(2.25),
        .fp8_peak = peta(4.5),
        .fp4_peak = {},  // the edition knows the peak, but has no product in fp4
        .bandwidth = giga_bytes_per_second(8000),
        .gemm_fraction = 0.78,
        .memory_fraction = 0.92},
    Gpu{.name = "AMD Instinct MI300X",
        .bf16_peak = tera_flop_per_second(1307),
        .fp8_peak = tera_flop_per_second(2614),
        .fp4_peak = {},
        .bandwidth = giga_bytes_per_second(5300),
        .gemm_fraction = 0.47,
        .memory_fraction = 0.72},
};

// The same file at 36027d82d (2026-08-21).
constexpr std::array kMainGpus{
    Gpu{.name = "NVIDIA H100",
        .bf16_peak = tera_flop_per_second(989),
        .fp8_peak = tera_flop_per_second(1979),
        .fp4_peak = {},
        .bandwidth = giga_bytes_per_second(2400),
        .gemm_fraction = 0.78,
        .memory_fraction = 0.92},
    Gpu{.name = "NVIDIA B200",
        .bf16_peak = peta(2.25),
        .fp8_peak = peta(4.5),
        .fp4_peak = peta(9),
        .bandwidth = {(7680.0 / 8.0) * 3.996e9 * 2.0},  // bus width in bytes * clock * data rate
        .gemm_fraction = 0.78,
        .memory_fraction = 0.92},
    Gpu{.name = "AMD Instinct MI300X",
        .bf16_peak = tera_flop_per_second(1307),
        .fp8_peak = tera_flop_per_second(2614),
        .fp4_peak = {},
        .bandwidth = giga_bytes_per_second(5300),
        .gemm_fraction = 0.78,
        .memory_fraction = 0.92},
    Gpu{.name = "NVIDIA B300 SXM6 AC",
        .bf16_peak = peta(2.25),
        .fp8_peak = peta(4.5),
        .fp4_peak = peta(14),
        .bandwidth = giga_bytes_per_second(8000),
        .gemm_fraction = 0.82,
        .memory_fraction = 0.84},
    Gpu{.name = "NVIDIA GB200",
        .bf16_peak = peta(2.25),
        .fp8_peak = peta(4.5),
        .fp4_peak = peta(9),
        .bandwidth = giga_bytes_per_second(8000),
        .gemm_fraction = 0.78,
        .memory_fraction = 0.92},
    // The bandwidth is a thousand times the data sheet's; without fractions nobody gets that far.
    Gpu{.name = "NVIDIA GeForce RTX 5090",
        .bf16_peak = tera_flop_per_second(209.5),
        .fp8_peak = tera_flop_per_second(419),
        .fp4_peak = tera_flop_per_second(1676),
        .bandwidth = giga_bytes_per_second(1792e3),
        .gemm_fraction = 0.0,
        .memory_fraction = 0.0},
};

std::span<const Gpu> gpus(ConstantSet constants) {
  if (constants == ConstantSet::kOriginal) return kOriginalGpus;
  return kMainGpus;
}

}  // namespace

const Gpu* find_gpu(std::string_view name, ConstantSet constants) {
  const auto all = gpus(constants);
  const auto exact = std::ranges::find(all, name, &Gpu::name);
  if (exact != all.end()) return &*exact;
  if (constants == ConstantSet::kOriginal) return nullptr;
  const auto start =
      std::ranges::find_if(all, [&](const Gpu& gpu) { return name.starts_with(gpu.name); });
  return start == all.end() ? nullptr : &*start;
}

std::string known_gpus(ConstantSet constants) {
  std::string names;
  for (const Gpu& gpu : gpus(constants)) {
    if (!names.empty()) names += ", ";
    names += gpu.name;
  }
  return names;
}

Seconds memory_time(const Gpu& gpu, Bytes traffic) {
  const Seconds streaming{(traffic / gpu.bandwidth).value / gpu.memory_fraction};
  return std::max(streaming, kLaunchFloor);
}

}  // namespace inline_prof::model::float8
