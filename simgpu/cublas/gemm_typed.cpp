// Matrix products whose name carries a letter for the type: plain, strided and batched, each with
// 32-bit and with 64-bit sizes.
#include "cublas/gemm_call.hpp"

using namespace simgpu;

#define SIMGPU_MULTIPLY(batch)                                                                   \
  multiply(h,                                                                                    \
           {trans_a, trans_b, m, n, k, alpha, letter_of(alpha).type, lda, letter_of(alpha).type, \
            ldb, beta, letter_of(alpha).type, ldc, batch, letter_of(alpha).compute})

#define SIMGPU_GEMM(name)                                                                    \
  SIMGPU_HANDLE_CALL(name, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc) { \
    return SIMGPU_MULTIPLY(1);                                                               \
  }
#define SIMGPU_GEMM_STRIDED(name)                                                                \
  SIMGPU_HANDLE_CALL(name, trans_a, trans_b, m, n, k, alpha, a, lda, a_stride, b, ldb, b_stride, \
                     beta, c, ldc, c_stride, batch) {                                            \
    return SIMGPU_MULTIPLY(batch);                                                               \
  }
#define SIMGPU_GEMM_BATCHED(name)                                                          \
  SIMGPU_HANDLE_CALL(name, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, \
                     batch) {                                                              \
    return SIMGPU_MULTIPLY(batch);                                                         \
  }

#define SIMGPU_ALL_OF_A_LETTER(L, version)                                \
  SIMGPU_BOTH_INDICES(SIMGPU_GEMM, cublas##L##gemm##version)              \
  SIMGPU_BOTH_INDICES(SIMGPU_GEMM_STRIDED, cublas##L##gemmStridedBatched) \
  SIMGPU_BOTH_INDICES(SIMGPU_GEMM_BATCHED, cublas##L##gemmBatched)
SIMGPU_ALL_OF_A_LETTER(S, _v2)
SIMGPU_ALL_OF_A_LETTER(D, _v2)
SIMGPU_ALL_OF_A_LETTER(C, _v2)
SIMGPU_ALL_OF_A_LETTER(Z, _v2)
SIMGPU_ALL_OF_A_LETTER(H, )
