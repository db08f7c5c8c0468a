#include "model/published/float8/gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace inline_prof::model::float8 {
namespace {

constexpr double kOutputBytes = 2.0;  // bf16

constexpr double element_bytes(Precision precision) {
  switch (precision) {
    case Precision::kBf16:
      return 2.0;
    case Precision::kFp8:
      return 1.0;
    case Precision::kFp4:
      return 0.5;
  }
  return 0.0;
}

double elements_read(const Gemm& gemm) {
  const double elements = gemm.m * gemm.k + gemm.k * gemm.n;
  return gemm.scale_block == 0 ? elements : elements + std::floor(elements / gemm.scale_block);
}

}  // namespace

std::string_view GemmTime::bound() const {
  if (compute >= memory && compute >= kLaunchFloor) return "compute";
  return memory >= kLaunchFloor ? "memory" : "launch";
}

GemmTime time_gemm(const Gpu& gpu, const Gemm& gemm) {
  const FlopPerSecond peak = gpu.peak(gemm.precision);
  if (!(peak.value > 0) || !(gpu.gemm_fraction > 0) || !(gpu.memory_fraction > 0)) {
    throw std::invalid_argument(
        fmt::format("{} has no numbers for {}", gpu.name, precision_name(gemm.precision)));
  }
  GemmTime result{.gemm = gemm,
                  .work = {2.0 * gemm.m * gemm.k * gemm.n},
                  .traffic = {elements_read(gemm) * element_bytes(gemm.precision) +
                              gemm.m * gemm.n * kOutputBytes},
                  .compute = {},
                  .memory = {},
                  .time = {}};
  result.compute = {(result.work / peak).value / gpu.gemm_fraction};
  result.memory = {(result.traffic / gpu.bandwidth).value / gpu.memory_fraction};
  result.time = std::max({result.compute, result.memory, kLaunchFloor});
  return result;
}

std::string explain(const GemmTime& time, const Gpu& gpu) {
  const Gemm& gemm = time.gemm;
  const std::string scales =
      gemm.scale_block == 0 ? ""
                            : fmt::format(" + floor(({0:.0f}*{1:.0f} + {1:.0f}*{2:.0f}) / {3})",
                                          gemm.m, gemm.k, gemm.n, gemm.scale_block);
  return fmt::format(
      "max(2*{0:.0f}*{1:.0f}*{2:.0f} / {3:g} / {4:g} = {5:g} us, "
      "(({0:.0f}*{1:.0f} + {1:.0f}*{2:.0f}{6})*{7:g} + {0:.0f}*{2:.0f}*2) bytes / {8:g} / {9:g} = "
      "{10:g} us, {11:g} us) = {12:g} us ({13}, {14})",
      gemm.m, gemm.k, gemm.n, gpu.peak(gemm.precision).value, gpu.gemm_fraction,
      in_microseconds(time.compute), scales, element_bytes(gemm.precision), gpu.bandwidth.value,
      gpu.memory_fraction, in_microseconds(time.memory), in_microseconds(kLaunchFloor),
      in_microseconds(time.time), precision_name(gemm.precision), time.bound());
}

std::string describe(const Gpu& gpu) {
  std::string peaks;
  for (const Precision precision : {Precision::kBf16, Precision::kFp8, Precision::kFp4}) {
    const double peak = gpu.peak(precision).value;
    if (peak > 0) peaks += fmt::format("{} {:g}, ", precision_name(precision), peak);
  }
  return fmt::format(
      "{}: {}FLOP/s, of which products reach {:g}; {:g} bytes/s, of which streams reach {:g}; "
      "no kernel below {:g} us",
      gpu.name, peaks, gpu.gemm_fraction, gpu.bandwidth.value, gpu.memory_fraction,
      in_microseconds(kLaunchFloor));
}

}  // namespace inline_prof::model::float8
