// A product as cublasLtMatmul is asked for it: descriptors checked against each other, and
// resolved.
#pragma once

#include "cublaslt/descriptors.hpp"
#include "cublaslt/handle.hpp"
#include "math/gemm.hpp"

#include <string>

namespace simgpu {

struct MatmulRequest {
  cublasLtMatmulDesc_t desc;
  cublasLtMatrixLayout_t a, b, c, d;
};

struct Matmul {
  MatmulDesc desc;
  GemmProblem problem;        // column-major; reads_c is not decided yet
  std::string epilogue;       // "_bias_relu", for the kernel's name
  double epilogue_bytes = 0;  // what it reads and writes
};

// Fails with INVALID_VALUE for parameters "in conflict or in an impossible configuration",
// NOT_SUPPORTED for what the simulated library cannot do (cublasLt.h, cublasLtMatmul).
[[nodiscard]] Matmul describe(const MatmulRequest& request);

// How an algorithm runs a product.
struct MatmulPlan {
  GemmTile tile;
  int splits;
  double workspace_bytes;
};
[[nodiscard]] MatmulPlan plan_of(const Matmul& matmul, const cublasLtMatmulAlgo_t& algo);

// Plans a product without an algorithm: the heuristic's first choice that fits the workspace.
[[nodiscard]] MatmulPlan default_plan(const Matmul& matmul, std::size_t workspace_bytes);

}  // namespace simgpu
