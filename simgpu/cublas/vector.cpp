// Products of a matrix and a vector, and of two vectors.
#include "cublas/gemm_call.hpp"

#include <algorithm>
#include <cstring>

using namespace simgpu;

namespace {

struct MatrixVectorCall {
  cublasOperation_t trans;
  std::int64_t m, n;
  const void *alpha, *a;
  std::int64_t lda;
  const void* x;
  std::int64_t x_step;
  const void *beta, *y;
  std::int64_t y_step;
};

// A template of the vendor's with the element's type as its last argument, mangled so that names
// demangle as on a GPU: gemv2T_kernel_val<int, int, float>().
std::string kernel_name(const char* name, const char* before, cudaDataType type) {
  const char* element = type == CUDA_R_64F    ? "d"
                        : type == CUDA_C_32F  ? "6float2"
                        : type == CUDA_C_64F  ? "7double2"
                        : type == CUDA_R_16F  ? "6__half"
                        : type == CUDA_R_16BF ? "13__nv_bfloat16"
                                              : "f";
  return "_Z" + std::to_string(std::strlen(name)) + name + "I" + before + element + "Evv";
}

// cuBLAS 13.0, cublas<t>gemv, "CUBLAS_STATUS_INVALID_VALUE: if m, n < 0, or if incx, incy = 0, or
// if trans is not one of ..., or if lda < max(1, m), or if alpha, beta == NULL".
cublasStatus_t multiply(cublasContext& h, cudaDataType type, const MatrixVectorCall& g) {
  const std::int64_t one = 1;
  if (g.m < 0 || g.n < 0 || g.x_step == 0 || g.y_step == 0 || g.lda < std::max(one, g.m) ||
      g.trans < CUBLAS_OP_N || g.trans > CUBLAS_OP_C || g.alpha == nullptr || g.beta == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (g.m == 0 || g.n == 0) return CUBLAS_STATUS_SUCCESS;
  const ElementType element = element_type(type);
  const double rows = static_cast<double>(g.m), columns = static_cast<double>(g.n);
  const double outputs = g.trans == CUBLAS_OP_N ? rows : columns;
  const bool reads_y = h.pointer_mode == CUBLAS_POINTER_MODE_DEVICE || !is_zero(g.beta, type);
  KernelCall call;
  call.name =
      kernel_name(g.trans == CUBLAS_OP_N ? "gemv2N_kernel" : "gemv2T_kernel_val", "ii", type);
  call.grid = {blocks_for(outputs, 128), 1, 1};
  call.work = {
      .flops = (element.is_complex ? 8 : 2) * rows * columns,
      .bytes = element.bytes * (rows * columns + rows + columns + (reads_y ? outputs : 0))};
  return status_of(h.launch(h.stream, {call}));
}

struct DotCall {
  std::int64_t n;
  const void* x;
  std::int64_t x_step;
  const void* y;
  std::int64_t y_step;
  void* result;
};

// A kernel for the sums of blocks, and one that adds them up.  A result in host memory is 0, and
// waited for.
cublasStatus_t dot(cublasContext& h, cudaDataType type, const DotCall& d) {
  const ElementType element = element_type(type);
  if (element.name == nullptr) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (d.result == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const bool is_on_host = h.pointer_mode == CUBLAS_POINTER_MODE_HOST;
  if (is_on_host) std::memset(d.result, 0, static_cast<std::size_t>(element.bytes));
  if (d.n <= 0) return CUBLAS_STATUS_SUCCESS;
  const double elements = static_cast<double>(d.n);
  KernelCall sums;
  sums.name = kernel_name("dot_kernel", "", type);
  sums.grid = {std::min(blocks_for(elements, 1024), 1024U), 1, 1};
  sums.work = {.flops = (element.is_complex ? 8 : 2) * elements,
               .bytes = 2 * element.bytes * elements};
  KernelCall all;
  all.name = kernel_name("reduce_1Block_kernel", "", type);
  all.work.bytes = element.bytes * sums.grid[0];
  float milliseconds = 0;
  return status_of(is_on_host ? h.time(h.stream, {sums, all}, milliseconds)
                              : h.launch(h.stream, {sums, all}));
}

}  // namespace

#define SIMGPU_GEMV(name)                                                            \
  SIMGPU_HANDLE_CALL(name, trans, m, n, alpha, a, lda, x, x_step, beta, y, y_step) { \
    return multiply(h, letter_of(alpha).type,                                        \
                    {trans, m, n, alpha, a, lda, x, x_step, beta, y, y_step});       \
  }
#define SIMGPU_DOT(name)                                                 \
  SIMGPU_HANDLE_CALL(name, n, x, x_step, y, y_step, result) {            \
    return dot(h, letter_of(x).type, {n, x, x_step, y, y_step, result}); \
  }
#define SIMGPU_DOT_EX(name)                                                                       \
  SIMGPU_HANDLE_CALL(name, n, x, type, x_step, y, y_type, y_step, result, result_type, compute) { \
    return dot(h, type, {n, x, x_step, y, y_step, result});                                       \
  }

SIMGPU_BOTH_INDICES(SIMGPU_GEMV, cublasSgemv_v2)
SIMGPU_BOTH_INDICES(SIMGPU_GEMV, cublasDgemv_v2)
SIMGPU_BOTH_INDICES(SIMGPU_GEMV, cublasCgemv_v2)
SIMGPU_BOTH_INDICES(SIMGPU_GEMV, cublasZgemv_v2)
SIMGPU_BOTH_INDICES(SIMGPU_DOT, cublasSdot_v2)
SIMGPU_BOTH_INDICES(SIMGPU_DOT, cublasDdot_v2)
SIMGPU_BOTH_INDICES(SIMGPU_DOT, cublasCdotu_v2)
SIMGPU_BOTH_INDICES(SIMGPU_DOT, cublasCdotc_v2)
SIMGPU_BOTH_INDICES(SIMGPU_DOT, cublasZdotu_v2)
SIMGPU_BOTH_INDICES(SIMGPU_DOT, cublasZdotc_v2)
SIMGPU_BOTH_INDICES(SIMGPU_DOT_EX, cublasDotEx)
