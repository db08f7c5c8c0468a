// One matrix product of the published roofline.
#pragma once

#include "model/published/float8/gpus.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace inline_prof::model::float8 {

// C[m,n] = A[m,k] * B[k,n]; A and B in `precision`, C always in bf16.
struct Gemm {
  double m = 0.0;
  double k = 0.0;
  double n = 0.0;
  Precision precision = Precision::kBf16;
  int scale_block = 0;  // elements of A and B that share a scale of one byte; 0: no scales counted
};

struct GemmTime {
  Gemm gemm;
  Flop work;
  Bytes traffic;
  Seconds compute;
  Seconds memory;
  Seconds time;

  [[nodiscard]] std::string_view bound() const;  // "compute", "memory" or "launch"
};

// max( 2*m*k*n / peak / gemm_fraction, traffic / bandwidth / memory_fraction, 2 us )
//
//   traffic = reads * element_bytes + 2*m*n,  reads = m*k + k*n + floor((m*k + k*n) / scale_block)
//
// Source: torchao, torchao/testing/training/roofline_utils.py (pytorch/ao at fe5bf73a6, 2025, and
// 36027d82d, 2026).  In fp4 the scales are counted as half a byte each, as there.  Knows neither
// tiles nor waves: below 1024 its authors say it is too low by about a factor of two.
//
// Throws std::invalid_argument if the GPU has no peak for the precision, or no fractions.
[[nodiscard]] GemmTime time_gemm(const Gpu& gpu, const Gemm& gemm);

// The formula with its numbers, without an end of line.
[[nodiscard]] std::string explain(const GemmTime& time, const Gpu& gpu);
// "NVIDIA H100: bf16 989, fp8 1979 TFLOP/s ...", the line above all explanations.
[[nodiscard]] std::string describe(const Gpu& gpu);

}  // namespace inline_prof::model::float8
