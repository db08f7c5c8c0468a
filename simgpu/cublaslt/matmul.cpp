// The two functions that launch.
#include "cublaslt/matmul.hpp"

#include <cstdint>

using namespace simgpu;

namespace {

// Whether beta is given and C is read; null pointers where the mode needs a value are an error.
cublasStatus_t scales_of(const MatmulDesc& desc, const void* alpha, const void* beta,
                         bool& reads_c) {
  reads_c = false;
  if (alpha == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (desc.pointer_mode == CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO) {
    return CUBLAS_STATUS_SUCCESS;
  }
  if (beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const bool beta_is_here =
      desc.pointer_mode == CUBLASLT_POINTER_MODE_HOST ||
      desc.pointer_mode == CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST;
  reads_c = !beta_is_here || !is_zero(beta, static_cast<cudaDataType>(desc.scale_type));
  return CUBLAS_STATUS_SUCCESS;
}

// cuBLAS 13.0, cublasLtMatmul, parameter workspace: "must be 256B aligned (i.e. lowest 8 bits of
// address must be 0)".
bool is_aligned(const void* workspace) {
  return reinterpret_cast<std::uintptr_t>(workspace) % 256 == 0;
}

}  // namespace

SIMGPU_CALL(cublasLtMatmul, handle, desc, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d,
            d_layout, algo, workspace, workspace_bytes, stream) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  Matmul matmul;
  auto status = describe({desc, a_layout, b_layout, c_layout, d_layout}, matmul);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  status = scales_of(matmul.desc, alpha, beta, matmul.problem.reads_c);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  if (a == nullptr || b == nullptr || d == nullptr || (matmul.problem.reads_c && c == nullptr) ||
      !is_aligned(workspace)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (workspace == nullptr) workspace_bytes = 0;
  MatmulPlan plan{};
  if (algo == nullptr) {
    plan = default_plan(matmul, workspace_bytes);
  } else {
    status = plan_of(matmul, *algo, plan);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
  }
  // "e.g. when workspaceSizeInBytes is less than workspace required by configured algo".
  if (plan.workspace_bytes > static_cast<double>(workspace_bytes)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  return status_of(handle->launch(stream, gemm_kernels(matmul.problem, plan.tile, plan.splits,
                                                       matmul.epilogue, matmul.epilogue_bytes)));
}

// C = alpha * op(A) + beta * op(B); B may be absent.
SIMGPU_CALL(cublasLtMatrixTransform, handle, desc, alpha, a, a_layout, beta, b, b_layout, c,
            c_layout, stream) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  // "e.g. when A is not NULL, but Adesc is NULL".
  if (desc == nullptr || alpha == nullptr || c == nullptr || c_layout == nullptr ||
      (a != nullptr && a_layout == nullptr) || (b != nullptr && b_layout == nullptr) ||
      (b != nullptr && beta == nullptr)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const auto bytes_of = [](const cublasLtMatrixLayout_t layout) {
    const auto value = value_in<MatrixLayout>(*layout);
    return static_cast<double>(value.rows) * static_cast<double>(value.cols) *
           static_cast<double>(value.batch_count) *
           element_type(static_cast<cudaDataType>(value.type)).bytes;
  };
  const double written = bytes_of(c_layout);
  KernelCall transform;
  // void cublasLt::transformKernel<float>()
  transform.name = "_ZN8cublasLt15transformKernelIfEEvv";
  constexpr double bytes_per_block = 16384;
  transform.grid = {blocks_for(written, bytes_per_block), 1, 1};
  transform.threads = 256;
  transform.work.bytes =
      written + (a != nullptr ? bytes_of(a_layout) : 0) + (b != nullptr ? bytes_of(b_layout) : 0);
  return status_of(handle->launch(stream, {transform}));
}
