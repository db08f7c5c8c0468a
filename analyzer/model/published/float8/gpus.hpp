// What torchao's roofline takes a GPU to be able to do.  These are the published model's numbers,
// some of them wrong (docs/models/low_precision.md); our own machines are in model/machines/.
#pragma once

#include "model/model.hpp"
#include "model/units.hpp"

#include <string>
#include <string_view>

namespace inline_prof::model::float8 {

enum class Precision { kBf16, kFp8, kFp4 };

[[nodiscard]] constexpr std::string_view precision_name(Precision precision) {
  switch (precision) {
    case Precision::kBf16:
      return "bf16";
    case Precision::kFp8:
      return "fp8";
    case Precision::kFp4:
      return "fp4";
  }
  return "";
}

// A 0 is a number that the original does not have: asking for it ends with a KeyError there.
struct Gpu {
  std::string_view name;  // as torch.cuda.get_device_name() gives it
  FlopPerSecond bf16_peak;
  FlopPerSecond fp8_peak;
  FlopPerSecond fp4_peak;
  BytesPerSecond bandwidth;
  double gemm_fraction;    // of the peak, reached by large products
  double memory_fraction;  // of the bandwidth, reached by large streams

  [[nodiscard]] constexpr FlopPerSecond peak(Precision precision) const {
    switch (precision) {
      case Precision::kBf16:
        return bf16_peak;
      case Precision::kFp8:
        return fp8_peak;
      case Precision::kFp4:
        return fp4_peak;
    }
    return {};
  }
};

// No kernel is predicted to be faster.
inline constexpr Seconds kLaunchFloor = microseconds(2);

// Null if the edition does not know the GPU.  The original looks for the exact name; main also
// takes the first name that `name` begins with ("NVIDIA H100 80GB HBM3").
[[nodiscard]] const Gpu* find_gpu(std::string_view name, ConstantSet constants);

// The names that an edition knows, for messages: "NVIDIA H100, NVIDIA B200, ...".
[[nodiscard]] std::string known_gpus(ConstantSet constants);

// Time of a kernel that only moves `traffic`: traffic / bandwidth / memory_fraction, at least the
// floor.
[[nodiscard]] Seconds memory_time(const Gpu& gpu, Bytes traffic);

}  // namespace inline_prof::model::float8
