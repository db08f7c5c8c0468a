// torchao's roofline of single kernels: what a GPU can do, products, and casts from bf16 into a
// lower precision.
//
// Source: torchao, torchao/testing/training/roofline_utils.py: pytorch/ao at fe5bf73a6 (2025-03-27)
// is the edition `original`, 36027d82d (2026-08-21) the edition `main`.
#pragma once

#include "model/model.hpp"
#include "model/units.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::model::float8 {

enum class Precision { kBf16, kFp8, kFp4 };

// A GPU as torchao describes it, partly wrong (README.md beside this file).  A 0 is a number that
// it does not have: asking for it ends with a KeyError there.
struct Gpu {
  std::string_view name;  // as torch.cuda.get_device_name() gives it
  FlopPerSecond bf16_peak, fp8_peak, fp4_peak;
  BytesPerSecond bandwidth;
  double gemm_fraction;    // of the peak, reached by large products
  double memory_fraction;  // of the bandwidth, reached by large streams

  [[nodiscard]] constexpr FlopPerSecond peak(Precision precision) const {
    if (precision == Precision::kBf16) return bf16_peak;
    return precision == Precision::kFp8 ? fp8_peak : fp4_peak;
  }
};

// Thrown where torchao has no answer: the exception that it ends with, and what was wrong.
struct Refusal {
  std::string_view error;
  std::string reason;
};

// Returns the GPUs that an edition knows.
[[nodiscard]] std::vector<const Gpu*> known_gpus(ConstantSet constants);
// The edition `original` looks for the exact name; `main` also takes the first name that `name`
// begins with ("NVIDIA H100 80GB HBM3").  Null: none.
[[nodiscard]] const Gpu* find_gpu(std::string_view name, ConstantSet constants);
// As find_gpu.  Throws Refusal where the edition knows no such GPU, or too little of it.
[[nodiscard]] const Gpu& look_up_gpu(std::string_view name, Precision precision,
                                     ConstantSet constants);

// No kernel is predicted to be faster.
inline constexpr Seconds kLaunchFloor = microseconds(2);

// C[m,n] = A[m,k] * B[k,n]; A and B in `precision`, C always in bf16.
struct Gemm {
  double m = 0.0;
  double k = 0.0;
  double n = 0.0;
  Precision precision = Precision::kBf16;
  int scale_block = 0;  // elements of A and B that share a scale of one byte; 0: no scales counted
};

struct GemmTime {
  Bytes traffic;
  Seconds compute;
  Seconds memory;
  Seconds time;

  [[nodiscard]] std::string_view bound() const;  // "compute", "memory" or "launch"
};

// The product of README.md.  Throws std::invalid_argument if the GPU has no peak for the precision,
// or no fractions.
[[nodiscard]] GemmTime time_gemm(const Gpu& gpu, const Gemm& gemm);

// One pass over a tensor, which reads and writes so much.  A pass of 0 bytes still costs a launch.
struct CastKernel {
  Bytes traffic;
  Seconds time;
};
[[nodiscard]] CastKernel cast_kernel(const Gpu& gpu, double bytes_per_element, double elements,
                                     double extra_bytes = 0.0);

// input[m,k] * weight[k,n].
struct LinearShape {
  double m = 0.0;
  double k = 0.0;
  double n = 0.0;
};

// "blockwise_128", in edition main only: scales for 1 x 128 of activations, 128 x 128 of weights.
// Input, weight, weight transposed, grad_output, grad_output transposed, input transposed; `fused`:
// the operations before have read input and grad_output already.
[[nodiscard]] std::vector<CastKernel> blockwise_casts(const Gpu& gpu, const LinearShape& shape,
                                                      bool fused);

}  // namespace inline_prof::model::float8
