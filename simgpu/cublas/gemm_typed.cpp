// Matrix products whose name carries a letter for the type: plain, strided and batched, each with
// 32-bit and with 64-bit sizes.  The macros write out what differs in types only; the header's
// declarations check every result.
#include "cublas/gemm_call.hpp"

using namespace simgpu;

#define SIMGPU_SIZES_AND_A(Element, Index)                                                       \
  cublasHandle_t handle, cublasOperation_t trans_a, cublasOperation_t trans_b, Index m, Index n, \
      Index k, const Element *alpha

#define SIMGPU_MULTIPLY(Element, batch)                                                          \
  static const BlasEntry entry{__func__};                                                        \
  return multiply(                                                                               \
      entry, handle,                                                                             \
      {trans_a, trans_b, m, n, k, alpha, Letter<Element>::type, lda, Letter<Element>::type, ldb, \
       beta, Letter<Element>::type, ldc, batch, Letter<Element>::compute})

#define SIMGPU_GEMM(name, Element, Index)                                                    \
  cublasStatus_t name(SIMGPU_SIZES_AND_A(Element, Index), const Element*, Index lda,         \
                      const Element*, Index ldb, const Element* beta, Element*, Index ldc) { \
    SIMGPU_MULTIPLY(Element, 1);                                                             \
  }

#define SIMGPU_GEMM_STRIDED(name, Element, Index)                                             \
  cublasStatus_t name(SIMGPU_SIZES_AND_A(Element, Index), const Element*, Index lda,          \
                      long long int, const Element*, Index ldb, long long int,                \
                      const Element* beta, Element*, Index ldc, long long int, Index batch) { \
    SIMGPU_MULTIPLY(Element, batch);                                                          \
  }

#define SIMGPU_GEMM_BATCHED(name, Element, Index)                                               \
  cublasStatus_t name(SIMGPU_SIZES_AND_A(Element, Index), const Element* const[], Index lda,    \
                      const Element* const[], Index ldb, const Element* beta, Element* const[], \
                      Index ldc, Index batch) {                                                 \
    SIMGPU_MULTIPLY(Element, batch);                                                            \
  }

#define SIMGPU_ALL_OF_A_LETTER(L, version, Element)                            \
  SIMGPU_GEMM(cublas##L##gemm##version, Element, int)                          \
  SIMGPU_GEMM(cublas##L##gemm##version##_64, Element, std::int64_t)            \
  SIMGPU_GEMM_STRIDED(cublas##L##gemmStridedBatched, Element, int)             \
  SIMGPU_GEMM_STRIDED(cublas##L##gemmStridedBatched_64, Element, std::int64_t) \
  SIMGPU_GEMM_BATCHED(cublas##L##gemmBatched, Element, int)                    \
  SIMGPU_GEMM_BATCHED(cublas##L##gemmBatched_64, Element, std::int64_t)

extern "C" {

SIMGPU_ALL_OF_A_LETTER(S, _v2, float)
SIMGPU_ALL_OF_A_LETTER(D, _v2, double)
SIMGPU_ALL_OF_A_LETTER(C, _v2, cuComplex)
SIMGPU_ALL_OF_A_LETTER(Z, _v2, cuDoubleComplex)
SIMGPU_ALL_OF_A_LETTER(H, , __half)

}  // extern "C"
