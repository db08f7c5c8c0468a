// cuBLAS: matrix products of every form (cublas_api.h 13.0).
#include "libraries/call_operation.hpp"
#include "libraries/call_wrapper.hpp"
#include "libraries/same_abi.hpp"

#include <cublas_api.h>

#include <string>

namespace inline_prof::hook {
namespace {

// --- the forms.  Handles are void*, enumerations int: the ABI passes both alike.

template <typename Size>
using Gemm = int(void* handle, int trans_a, int trans_b, Size m, Size n, Size k, const void* alpha,
                 const void* a, Size lda, const void* b, Size ldb, const void* beta, void* c,
                 Size ldc);
template <typename Size>
using GemmBatched = int(void* handle, int trans_a, int trans_b, Size m, Size n, Size k,
                        const void* alpha, const void* const* a, Size lda, const void* const* b,
                        Size ldb, const void* beta, void* const* c, Size ldc, Size batch);
template <typename Size>
using GemmStrided = int(void* handle, int trans_a, int trans_b, Size m, Size n, Size k,
                        const void* alpha, const void* a, Size lda, long long stride_a,
                        const void* b, Size ldb, long long stride_b, const void* beta, void* c,
                        Size ldc, long long stride_c, Size batch);
template <typename Size>
using GemmEx = int(void* handle, int trans_a, int trans_b, Size m, Size n, Size k,
                   const void* alpha, const void* a, int a_type, Size lda, const void* b,
                   int b_type, Size ldb, const void* beta, void* c, int c_type, Size ldc,
                   int compute, int algorithm);
template <typename Size>
using GemmBatchedEx = int(void* handle, int trans_a, int trans_b, Size m, Size n, Size k,
                          const void* alpha, const void* const* a, int a_type, Size lda,
                          const void* const* b, int b_type, Size ldb, const void* beta,
                          void* const* c, int c_type, Size ldc, Size batch, int compute,
                          int algorithm);
template <typename Size>
using GemmStridedEx = int(void* handle, int trans_a, int trans_b, Size m, Size n, Size k,
                          const void* alpha, const void* a, int a_type, Size lda,
                          long long stride_a, const void* b, int b_type, Size ldb,
                          long long stride_b, const void* beta, void* c, int c_type, Size ldc,
                          long long stride_c, Size batch, int compute, int algorithm);

static_assert(kSameAbi<decltype(::cublasSgemm_v2), Gemm<int>>);
static_assert(kSameAbi<decltype(::cublasHgemm_64), Gemm<std::int64_t>>);
static_assert(kSameAbi<decltype(::cublasDgemmBatched), GemmBatched<int>>);
static_assert(kSameAbi<decltype(::cublasZgemmBatched_64), GemmBatched<std::int64_t>>);
static_assert(kSameAbi<decltype(::cublasCgemmStridedBatched), GemmStrided<int>>);
static_assert(kSameAbi<decltype(::cublasSgemmStridedBatched_64), GemmStrided<std::int64_t>>);
// The 32-bit ones are overloaded in C++.
static_assert(kSameAbi<decltype(::cublasGemmEx_64), GemmEx<std::int64_t>>);
static_assert(kSameAbi<decltype(::cublasGemmBatchedEx_64), GemmBatchedEx<std::int64_t>>);
static_assert(kSameAbi<decltype(::cublasGemmStridedBatchedEx_64), GemmStridedEx<std::int64_t>>);

// --- what a call says

struct Types {
  int a;
  int b;
  int c;
  int compute;
};

// Of cublasSgemm and its like, by the letter; complex types are none that prof.json has.
Types types_of(const LibraryCall& call) noexcept {
  constexpr std::size_t letter = sizeof "cublas" - 1;
  switch (call.symbol[letter]) {
    case 'S':
      return {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case 'D':
      return {CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
    case 'H':
      return {CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F};
    case 'C':
      return {CUDA_C_32F, CUDA_C_32F, CUDA_C_32F, CUBLAS_COMPUTE_32F};
    default:
      return {CUDA_C_64F, CUDA_C_64F, CUDA_C_64F, CUBLAS_COMPUTE_64F};
  }
}

// What products of f32 matrices are computed in where the call leaves it to the handle.
// cublas_api.h, cublasMath_t; -1 where it cannot be asked.
int math_mode(void* real, void* handle) {
  using GetMathMode = int (*)(void*, int*);
  const auto get = reinterpret_cast<GetMathMode>(function_beside(real, "cublasGetMathMode"));
  int mode = -1;
  return get != nullptr && get(handle, &mode) == CUBLAS_STATUS_SUCCESS ? mode : -1;
}

// Null as compute_type_of.
const char* compute_word(const Types& types, void* real, void* handle) {
  const bool by_handle =
      types.compute == CUBLAS_COMPUTE_32F && types.a == CUDA_R_32F && types.b == CUDA_R_32F;
  const int mode = by_handle ? math_mode(real, handle) : -1;
  if (mode < 0) return compute_type_of(types.compute);
  constexpr int precision_bits = 0xF;  // the rest says what reductions may do
  if ((mode & precision_bits) == CUBLAS_TF32_TENSOR_OP_MATH) return "tf32";
  return (mode & precision_bits) == CUBLAS_TENSOR_OP_MATH ? "f16" : "f32";
}

struct Shape {
  void* handle;
  int trans_a;
  int trans_b;
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  std::int64_t batch = 1;
};

// cuBLAS is column-major, C = op(A) op(B) with C m x n.  Row-major memory holds the transposes, and
// C' = op(B)' op(A)' is n x m: what the call names A is our B.
record::Op describe_gemm(const LibraryCall& call, void* real, const Shape& shape,
                         const Types& types) {
  Product product{.m = shape.n,
                  .n = shape.m,
                  .k = shape.k,
                  .batch = shape.batch,
                  .a_type = number_type_of(types.b),
                  .b_type = number_type_of(types.a),
                  .c_type = number_type_of(types.c),
                  .trans_a = shape.trans_b != CUBLAS_OP_N,
                  .trans_b = shape.trans_a != CUBLAS_OP_N};
  for (const int type : {types.a, types.b, types.c}) {
    if (number_type_of(type) == nullptr) return left_out(call, "data type", type);
  }
  product.compute_type = compute_word(types, real, shape.handle);
  if (product.compute_type == nullptr) return left_out(call, "compute type", types.compute);
  return gemm_op(call, product);
}

struct Said {
  static constexpr const char* kEventName = "gemm";
  static constexpr int kNotThere = CUBLAS_STATUS_NOT_INITIALIZED;
};

struct SaidByGemm : Said {
  template <typename Size, typename... Rest>
  static record::Op describe(const LibraryCall& call, void* real, void* handle, int trans_a,
                             int trans_b, Size m, Size n, Size k, Rest...) {
    return describe_gemm(call, real, {handle, trans_a, trans_b, m, n, k}, types_of(call));
  }
};

struct SaidByGemmBatched : Said {
  template <typename Size>
  static record::Op describe(const LibraryCall& call, void* real, void* handle, int trans_a,
                             int trans_b, Size m, Size n, Size k, const void*, const void* const*,
                             Size, const void* const*, Size, const void*, void* const*, Size,
                             Size batch) {
    return describe_gemm(call, real, {handle, trans_a, trans_b, m, n, k, batch}, types_of(call));
  }
};

struct SaidByGemmStrided : Said {
  template <typename Size>
  static record::Op describe(const LibraryCall& call, void* real, void* handle, int trans_a,
                             int trans_b, Size m, Size n, Size k, const void*, const void*, Size,
                             long long, const void*, Size, long long, const void*, void*, Size,
                             long long, Size batch) {
    return describe_gemm(call, real, {handle, trans_a, trans_b, m, n, k, batch}, types_of(call));
  }
};

struct SaidByGemmEx : Said {
  template <typename Size>
  static record::Op describe(const LibraryCall& call, void* real, void* handle, int trans_a,
                             int trans_b, Size m, Size n, Size k, const void*, const void*,
                             int a_type, Size, const void*, int b_type, Size, const void*, void*,
                             int c_type, Size, int compute, int) {
    return describe_gemm(call, real, {handle, trans_a, trans_b, m, n, k},
                         {a_type, b_type, c_type, compute});
  }
};

struct SaidByGemmBatchedEx : Said {
  template <typename Size>
  static record::Op describe(const LibraryCall& call, void* real, void* handle, int trans_a,
                             int trans_b, Size m, Size n, Size k, const void*, const void* const*,
                             int a_type, Size, const void* const*, int b_type, Size, const void*,
                             void* const*, int c_type, Size, Size batch, int compute, int) {
    return describe_gemm(call, real, {handle, trans_a, trans_b, m, n, k, batch},
                         {a_type, b_type, c_type, compute});
  }
};

struct SaidByGemmStridedEx : Said {
  template <typename Size>
  static record::Op describe(const LibraryCall& call, void* real, void* handle, int trans_a,
                             int trans_b, Size m, Size n, Size k, const void*, const void*,
                             int a_type, Size, long long, const void*, int b_type, Size, long long,
                             const void*, void*, int c_type, Size, long long, Size batch,
                             int compute, int) {
    return describe_gemm(call, real, {handle, trans_a, trans_b, m, n, k, batch},
                         {a_type, b_type, c_type, compute});
  }
};

using Size32 = int;
using Size64 = std::int64_t;

}  // namespace

#define INLINE_PROF_GEMM(name, bits) \
  INLINE_PROF_DEFINE_CALL(name, DescribedCall<SaidByGemm>, Gemm<Size##bits>)
INLINE_PROF_GEMM_CALLS(INLINE_PROF_GEMM)
#define INLINE_PROF_BATCHED(name, bits) \
  INLINE_PROF_DEFINE_CALL(name, DescribedCall<SaidByGemmBatched>, GemmBatched<Size##bits>)
INLINE_PROF_GEMM_BATCHED_CALLS(INLINE_PROF_BATCHED)
#define INLINE_PROF_STRIDED(name, bits) \
  INLINE_PROF_DEFINE_CALL(name, DescribedCall<SaidByGemmStrided>, GemmStrided<Size##bits>)
INLINE_PROF_GEMM_STRIDED_CALLS(INLINE_PROF_STRIDED)
#define INLINE_PROF_EX(name, bits) \
  INLINE_PROF_DEFINE_CALL(name, DescribedCall<SaidByGemmEx>, GemmEx<Size##bits>)
INLINE_PROF_GEMM_EX_CALLS(INLINE_PROF_EX)
#define INLINE_PROF_BATCHED_EX(name, bits) \
  INLINE_PROF_DEFINE_CALL(name, DescribedCall<SaidByGemmBatchedEx>, GemmBatchedEx<Size##bits>)
INLINE_PROF_GEMM_BATCHED_EX_CALLS(INLINE_PROF_BATCHED_EX)
#define INLINE_PROF_STRIDED_EX(name, bits) \
  INLINE_PROF_DEFINE_CALL(name, DescribedCall<SaidByGemmStridedEx>, GemmStridedEx<Size##bits>)
INLINE_PROF_GEMM_STRIDED_EX_CALLS(INLINE_PROF_STRIDED_EX)

}  // namespace inline_prof::hook
