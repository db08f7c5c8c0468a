// torchao's roofline of one linear layer: what a GPU can do, the products of a layer, and the casts
// that bring its tensors from bf16 into a lower precision.
//
// Source: torchao, torchao/testing/training/roofline_utils.py: pytorch/ao at fe5bf73a6 (2025-03-27)
// is the edition `original`, 36027d82d (2026-08-21) the edition `main`.
#pragma once

#include "model/model.hpp"
#include "model/units.hpp"

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::model::float8 {

enum class Precision { kBf16, kFp8, kFp4 };

// A GPU as torchao describes it.  Some of these numbers are wrong
// (README.md beside this file); our own machines are in model/machines/.  A 0 is a number that
// torchao does not have: asking for it ends with a KeyError there.
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

// Returns the GPUs that an edition knows, by name.  The edition `original` looks for the exact
// name; `main` also takes the first name that `name` begins with ("NVIDIA H100 80GB HBM3").  Null:
// none.
[[nodiscard]] std::vector<const Gpu*> known_gpus(ConstantSet constants);
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
  Gemm gemm;
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
// In fp4 the scales are counted as half a byte each, as in torchao.  Knows neither tiles nor waves:
// below 1024 its authors say it is too low by about a factor of two.
// Throws std::invalid_argument if the GPU has no peak for the precision, or no fractions.
[[nodiscard]] GemmTime time_gemm(const Gpu& gpu, const Gemm& gemm);

// One pass over a tensor: bytes_per_element * elements + extra_bytes, read and written together.
// A pass of 0 bytes still costs a launch: 2 us.
struct CastKernel {
  double bytes_per_element = 0.0;
  double elements = 0.0;
  double extra_bytes = 0.0;  // scales
  Seconds time;

  [[nodiscard]] Bytes traffic() const { return {bytes_per_element * elements + extra_bytes}; }
};
[[nodiscard]] CastKernel cast_kernel(const Gpu& gpu, double bytes_per_element, double elements,
                                     double extra_bytes = 0.0);

struct NamedCast {
  std::string_view tensor;
  std::vector<CastKernel> kernels;
};

// The passes of one recipe over one kind of tensor, in bytes per element.  Scales are not counted.
struct CastRule {
  std::span<const double> passes;
  double fused_first_pass = 0.0;  // where the operation before has read the tensor already
};

// How one recipe trains: a name of the column float8_recipe or mx_recipe.
struct TrainingRecipe {
  std::string_view name;
  bool is_mx = false;
  bool is_in_original = true, is_in_main = true;  // the editions that know it
  Precision precision = Precision::kFp8;
  CastRule activation;  // input and grad_output
  CastRule weight;
};
// The recipe whose third product stays in bf16.
inline constexpr std::string_view kGradWeightInBf16 = "rowwise_with_gw_hp";

// The recipes of a row.  Each may be null; both are, for all in bf16.
struct TrainingChoice {
  const TrainingRecipe* float8 = nullptr;
  const TrainingRecipe* mx = nullptr;

  // A float8 recipe goes before an mx one, as in torchao.
  [[nodiscard]] const TrainingRecipe* first() const { return float8 != nullptr ? float8 : mx; }
};

// Looks the two names up; an empty one is none.  Throws Refusal.
[[nodiscard]] TrainingChoice choose_training(std::string_view float8, std::string_view mx,
                                             ConstantSet constants);

// Returns the kernels of casting a tensor of this many elements.
[[nodiscard]] std::vector<CastKernel> training_cast(const Gpu& gpu, const CastRule& rule,
                                                    double elements, bool fused);

// input[m,k] * weight[k,n].
struct LinearShape {
  double m = 0.0;
  double k = 0.0;
  double n = 0.0;
};

// Returns the block of elements that shares a scale under a recipe of this name: 32 for mx..., 16
// for nv..., 0 for others.
[[nodiscard]] int scale_block(std::string_view recipe);

// Returns the product of the forward pass and the two of the backward pass: output, grad_input,
// grad_weight; the last one in a precision of its own.
[[nodiscard]] std::vector<GemmTime> training_products(const Gpu& gpu, const LinearShape& shape,
                                                      Precision precision, int scale_block,
                                                      Precision grad_weight);
// Returns the casts of input, weight and grad_output; `fused`: the operation before has read input
// and grad_output already.
[[nodiscard]] std::vector<NamedCast> training_casts(const Gpu& gpu, const LinearShape& shape,
                                                    const TrainingRecipe& recipe, bool fused);

// "blockwise_128", in edition main only: scales for 1 x 128 of activations, 128 x 128 of weights.
inline constexpr std::string_view kBlockwise = "blockwise_128";
[[nodiscard]] std::vector<GemmTime> blockwise_products(const Gpu& gpu, const LinearShape& shape);
[[nodiscard]] std::vector<NamedCast> blockwise_casts(const Gpu& gpu, const LinearShape& shape,
                                                     bool fused);

// Inference, in edition main only: the weight is quantised beforehand, the input on the way.
// Throws Refusal where torchao has no such recipe.
[[nodiscard]] Precision inference_precision(std::string_view recipe);
[[nodiscard]] std::vector<CastKernel> inference_cast(const Gpu& gpu, const LinearShape& shape,
                                                     std::string_view recipe);

[[nodiscard]] Seconds total(std::span<const GemmTime> products);
[[nodiscard]] Seconds total(std::span<const CastKernel> kernels);
[[nodiscard]] Seconds total(std::span<const NamedCast> casts);

// Returns the formulas with their numbers, without an end of line.
[[nodiscard]] std::string explain(const GemmTime& time, const Gpu& gpu);
[[nodiscard]] std::string explain(const CastKernel& kernel, const Gpu& gpu);
// "NVIDIA H100: bf16 989, fp8 1979 TFLOP/s ...", the line above all explanations.
[[nodiscard]] std::string describe(const Gpu& gpu);

}  // namespace inline_prof::model::float8
