// Matrix products whose types are arguments, each with 32-bit and with 64-bit sizes.
#include "cublas/gemm_call.hpp"

#include <type_traits>

using namespace simgpu;

namespace {

// A function's type with 32-bit sizes, from that with 64-bit ones.  The header overloads the names
// without _64 in C++, so they have no one type to take it from.
template <typename Function>
struct Narrow;
template <typename... Types>
struct Narrow<cublasStatus_t(Types...)> {
  using Type =
      cublasStatus_t(std::conditional_t<std::is_same_v<Types, std::int64_t>, int, Types>...);
};

}  // namespace

// The batch only, strides and addresses change nothing here.
#define SIMGPU_GEMM_EX(name, batch, ...)                                                          \
  SIMGPU_HANDLE_CALL(name##_64, __VA_ARGS__) {                                                    \
    return multiply(h, {trans_a, trans_b, m, n, k, alpha, a_type, lda, b_type, ldb, beta, c_type, \
                        ldc, batch, compute});                                                    \
  }                                                                                               \
  extern Narrow<decltype(name##_64)>::Type narrow_##name;                                         \
  cublasStatus_t name(SIMGPU_PARAMETERS(narrow_##name, handle, __VA_ARGS__)) {                    \
    static const BlasEntry entry{__func__};                                                       \
    return with_handle(entry, handle,                                                             \
                       [&](cublasContext& h) { return body_##name##_64(h, __VA_ARGS__); });       \
  }
SIMGPU_GEMM_EX(cublasGemmEx, 1, trans_a, trans_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb,
               beta, c, c_type, ldc, compute, algo)
SIMGPU_GEMM_EX(cublasGemmStridedBatchedEx, count, trans_a, trans_b, m, n, k, alpha, a, a_type, lda,
               a_stride, b, b_type, ldb, b_stride, beta, c, c_type, ldc, c_stride, count, compute,
               algo)
SIMGPU_GEMM_EX(cublasGemmBatchedEx, count, trans_a, trans_b, m, n, k, alpha, a, a_type, lda, b,
               b_type, ldb, beta, c, c_type, ldc, count, compute, algo)

// cublasSgemmEx and cublasCgemmEx: arithmetic in f32, other types of the matrices.
#define SIMGPU_LETTER_GEMM_EX(name)                                                                \
  SIMGPU_HANDLE_CALL(name, trans_a, trans_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, \
                     c, c_type, ldc) {                                                             \
    return multiply(h, {trans_a, trans_b, m, n, k, alpha, a_type, lda, b_type, ldb, beta, c_type,  \
                        ldc, 1, CUBLAS_COMPUTE_32F});                                              \
  }

SIMGPU_BOTH_INDICES(SIMGPU_LETTER_GEMM_EX, cublasSgemmEx)
SIMGPU_BOTH_INDICES(SIMGPU_LETTER_GEMM_EX, cublasCgemmEx)
