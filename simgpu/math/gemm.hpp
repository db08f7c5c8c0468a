// Matrix products as the kernels of cuBLAS and cuBLASLt see them.
#pragma once

#include "math/handle.hpp"

#include <cublas_v2.h>

#include <cstdint>
#include <string>
#include <vector>

namespace simgpu {

struct ElementType {
  const char* name;  // as kernel names spell it; null: a type that is not simulated
  double bytes;
  bool is_complex = false;
};
[[nodiscard]] ElementType element_type(cudaDataType type);

// D[m,n] = op(A)[m,k] op(B)[k,n] + C, column-major, `batch` times.
struct GemmProblem {
  bool trans_a, trans_b;
  std::int64_t m, n, k, batch;
  cudaDataType a_type, b_type, c_type, d_type;
  cublasComputeType_t compute;
  bool allows_tf32 = false;  // CUBLAS_TF32_TENSOR_OP_MATH
  bool reads_c = false;
};

// The arithmetic that kernel names show between input and output type, or null for a combination
// that cuBLAS does not have (cuBLAS 13.0, cublasGemmEx, table of supported types; the emulated
// modes are not simulated).  FP8 inputs are cuBLASLt's alone.
[[nodiscard]] const char* arithmetic_of(const GemmProblem& problem);

struct GemmTile {
  int m, n, k;
};

// Larger products get larger tiles, as in the vendor's heuristics; only the name and the grid
// depend on it, the time comes from the model file.
[[nodiscard]] GemmTile gemm_tile(const GemmProblem& problem);

// How many ways the sum over k is split: k / 2048, at most 16, where a single product has at most
// 16384 elements and a k of 8192 or more; else 1.  Such a product has too few tiles to fill a GPU.
[[nodiscard]] int gemm_splits(const GemmProblem& problem);

// Room for the partial sums of a split product: one f32, or one of the output type if that is
// larger, per split and element.  0 without a split.
[[nodiscard]] double split_workspace_bytes(const GemmProblem& problem, int splits);

// One kernel, or with splits > 1 two: the product, and the sum of its parts.  `epilogue` is shown
// in the name ("_bias_relu"), `extra_bytes` is what it reads and writes.
[[nodiscard]] std::vector<KernelCall> gemm_kernels(const GemmProblem& problem, const GemmTile& tile,
                                                   int splits, const std::string& epilogue = "",
                                                   double extra_bytes = 0);

// Whether the value at `scale`, a number of type `type` in host memory, is zero.
[[nodiscard]] bool is_zero(const void* scale, cudaDataType type);

}  // namespace simgpu
