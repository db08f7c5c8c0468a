// The two functions that launch.
#include "cublaslt/matmul.hpp"

#include <cstdint>
#include <vector>

using namespace simgpu;

namespace {

// Returns whether C is read; fails on a null pointer if the mode needs a value.
bool reads_c(const MatmulDesc& desc, const void* alpha, const void* beta) {
  fail_if(alpha == nullptr);
  if (desc.pointer_mode == CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO) return false;
  fail_if(beta == nullptr);
  const bool beta_is_here =
      desc.pointer_mode == CUBLASLT_POINTER_MODE_HOST ||
      desc.pointer_mode == CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST;
  return !beta_is_here || !is_zero(beta, static_cast<cudaDataType>(desc.scale_type));
}

// cuBLAS 13.0, cublasLtMatmul, parameter workspace: "must be 256B aligned (i.e. lowest 8 bits of
// address must be 0)".
bool is_aligned(const void* workspace) {
  return reinterpret_cast<std::uintptr_t>(workspace) % 256 == 0;
}

void launch(cublasLtHandle_t handle, cudaStream_t stream, const std::vector<KernelCall>& calls) {
  const cublasStatus_t status = status_of(handle->launch(stream, calls));
  fail_if(status != CUBLAS_STATUS_SUCCESS, status);
}

}  // namespace

SIMGPU_CALL(cublasLtMatmul, handle, desc, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d,
            d_layout, algo, workspace, workspace_bytes, stream) {
  check_handle(handle);
  Matmul matmul = describe({desc, a_layout, b_layout, c_layout, d_layout});
  matmul.problem.reads_c = reads_c(matmul.desc, alpha, beta);
  fail_if(a == nullptr || b == nullptr || d == nullptr ||
          (matmul.problem.reads_c && c == nullptr) || !is_aligned(workspace));
  if (workspace == nullptr) workspace_bytes = 0;
  const MatmulPlan plan =
      algo == nullptr ? default_plan(matmul, workspace_bytes) : plan_of(matmul, *algo);
  // "e.g. when workspaceSizeInBytes is less than workspace required by configured algo".
  fail_if(plan.workspace_bytes > static_cast<double>(workspace_bytes));
  launch(
      handle, stream,
      gemm_kernels(matmul.problem, plan.tile, plan.splits, matmul.epilogue, matmul.epilogue_bytes));
}
