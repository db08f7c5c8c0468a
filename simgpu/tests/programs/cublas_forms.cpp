// Every form of a matrix product of the simulated cuBLAS: prints the name of each call that fails,
// then how many there were.  `split` launches one product that is split along k instead,
// `vectors` those with vectors.
#include "scenes.hpp"

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <cstring>

namespace {

constexpr int kSize = 64;
constexpr auto kN = CUBLAS_OP_N;

struct Forms {
  cublasHandle_t handle = nullptr;
  void* data = nullptr;
  int count = 0;

  void expect_success(const char* name, cublasStatus_t status) {
    ++count;
    if (status != CUBLAS_STATUS_SUCCESS) {
      std::printf("%s %s\n", name, cublasGetStatusName(status));
    }
  }
};

// NOLINTBEGIN(bugprone-macro-parentheses): names of functions and types
#define FORM(call, ...) forms.expect_success(#call, call(forms.handle, kN, kN, __VA_ARGS__))

// One letter's six functions.
#define FORMS_OF(plain, plain_64, letter, Element)                                                 \
  {                                                                                                \
    const Element one{}, zero{};                                                                   \
    auto* m = static_cast<Element*>(forms.data);                                                   \
    auto** pointers = static_cast<Element**>(forms.data);                                          \
    constexpr std::int64_t s = kSize;                                                              \
    FORM(plain, kSize, kSize, kSize, &one, m, kSize, m, kSize, &zero, m, kSize);                   \
    FORM(plain_64, s, s, s, &one, m, s, m, s, &zero, m, s);                                        \
    FORM(cublas##letter##gemmStridedBatched, kSize, kSize, kSize, &one, m, kSize, 0, m, kSize, 0,  \
         &zero, m, kSize, 0, 3);                                                                   \
    FORM(cublas##letter##gemmStridedBatched_64, s, s, s, &one, m, s, 0, m, s, 0, &zero, m, s, 0,   \
         std::int64_t{3});                                                                         \
    FORM(cublas##letter##gemmBatched, kSize, kSize, kSize, &one, pointers, kSize, pointers, kSize, \
         &zero, pointers, kSize, 3);                                                               \
    FORM(cublas##letter##gemmBatched_64, s, s, s, &one, pointers, s, pointers, s, &zero, pointers, \
         s, std::int64_t{3});                                                                      \
  }

void letters(Forms& forms) {
  FORMS_OF(cublasSgemm, cublasSgemm_64, S, float)
  FORMS_OF(cublasDgemm, cublasDgemm_64, D, double)
  FORMS_OF(cublasCgemm, cublasCgemm_64, C, cuComplex)
  FORMS_OF(cublasZgemm, cublasZgemm_64, Z, cuDoubleComplex)
  FORMS_OF(cublasHgemm, cublasHgemm_64, H, __half)
}

// A matrix and a vector, and two vectors, whose product is waited for.
#define VECTORS_OF(letter, Element, dot, dot_64)                                                   \
  {                                                                                                \
    const Element one{}, zero{};                                                                   \
    auto* m = static_cast<Element*>(forms.data);                                                   \
    Element result{};                                                                              \
    forms.expect_success("gemv", cublas##letter##gemv(forms.handle, kN, kSize, kSize, &one, m,     \
                                                      kSize, m, 1, &zero, m, 1));                  \
    forms.expect_success("gemv_64",                                                                \
                         cublas##letter##gemv_64(forms.handle, CUBLAS_OP_T, kSize, kSize, &one, m, \
                                                 kSize, m, 1, &zero, m, 1));                       \
    forms.expect_success(#dot, dot(forms.handle, kSize, m, 1, m, 1, &result));                     \
    forms.expect_success(#dot_64, dot_64(forms.handle, kSize, m, 1, m, 1, &result));               \
  }

// NOLINTEND(bugprone-macro-parentheses)

void vectors(Forms& forms) {
  VECTORS_OF(S, float, cublasSdot, cublasSdot_64)
  VECTORS_OF(D, double, cublasDdot, cublasDdot_64)
  VECTORS_OF(C, cuComplex, cublasCdotu, cublasCdotc_64)
  VECTORS_OF(Z, cuDoubleComplex, cublasZdotc, cublasZdotu_64)
  __half result{};
  forms.expect_success("cublasDotEx",
                       cublasDotEx(forms.handle, kSize, forms.data, CUDA_R_16F, 1, forms.data,
                                   CUDA_R_16F, 1, &result, CUDA_R_16F, CUDA_R_32F));
}

void types_as_arguments(Forms& forms) {
  constexpr std::int64_t s = kSize;
  const float one = 1, zero = 0;
  const cuComplex complex_one{1, 0}, complex_zero{0, 0};
  void* m = forms.data;
  auto** pointers = static_cast<void**>(forms.data);
  constexpr auto bf16 = CUDA_R_16BF;
  constexpr auto f32 = CUBLAS_COMPUTE_32F;
  constexpr auto algo = CUBLAS_GEMM_DEFAULT;
  FORM(cublasGemmEx, kSize, kSize, kSize, &one, m, bf16, kSize, m, bf16, kSize, &zero, m, bf16,
       kSize, f32, algo);
  FORM(cublasGemmEx_64, s, s, s, &one, m, bf16, s, m, bf16, s, &zero, m, bf16, s, f32, algo);
  FORM(cublasGemmStridedBatchedEx, kSize, kSize, kSize, &one, m, bf16, kSize, 0, m, bf16, kSize, 0,
       &zero, m, bf16, kSize, 0, 3, f32, algo);
  FORM(cublasGemmStridedBatchedEx_64, s, s, s, &one, m, bf16, s, 0, m, bf16, s, 0, &zero, m, bf16,
       s, 0, 3, f32, algo);
  FORM(cublasGemmBatchedEx, kSize, kSize, kSize, &one, pointers, bf16, kSize, pointers, bf16, kSize,
       &zero, pointers, bf16, kSize, 3, f32, algo);
  FORM(cublasGemmBatchedEx_64, s, s, s, &one, pointers, bf16, s, pointers, bf16, s, &zero, pointers,
       bf16, s, 3, f32, algo);
  FORM(cublasSgemmEx, kSize, kSize, kSize, &one, m, bf16, kSize, m, bf16, kSize, &zero, m, bf16,
       kSize);
  FORM(cublasSgemmEx_64, s, s, s, &one, m, bf16, s, m, bf16, s, &zero, m, bf16, s);
  FORM(cublasCgemmEx, kSize, kSize, kSize, &complex_one, m, CUDA_C_32F, kSize, m, CUDA_C_32F, kSize,
       &complex_zero, m, CUDA_C_32F, kSize);
  FORM(cublasCgemmEx_64, s, s, s, &complex_one, m, CUDA_C_32F, s, m, CUDA_C_32F, s, &complex_zero,
       m, CUDA_C_32F, s);
}

}  // namespace

int main(int argc, char** argv) {
  Forms forms;
  if (cublasCreate(&forms.handle) != CUBLAS_STATUS_SUCCESS) return 1;
  CHECK(cudaMalloc(&forms.data, std::size_t{1} << 26));
  if (argc == 2 && std::strcmp(argv[1], "split") == 0) {
    const float one = 1, zero = 0;
    FORM(cublasGemmEx, 64, 128, 16384, &one, forms.data, CUDA_R_16BF, 64, forms.data, CUDA_R_16BF,
         16384, &zero, forms.data, CUDA_R_16BF, 64, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  } else if (argc == 2 && std::strcmp(argv[1], "vectors") == 0) {
    vectors(forms);
  } else {
    letters(forms);
    types_as_arguments(forms);
  }
  CHECK(cudaDeviceSynchronize());
  std::printf("%d calls\n", forms.count);
  return cublasDestroy(forms.handle) == CUBLAS_STATUS_SUCCESS ? 0 : 1;
}
