// cuBLAS: matrix products of every form (cublas_api.h 13.0).
#include "libraries/call_operation.hpp"
#include "libraries/call_wrapper.hpp"

#include <cublas_api.h>

#include <cstddef>
#include <cstdint>
#include <tuple>

namespace inline_prof::libraries {
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

// --- what a call computes

struct Types {
  int a;
  int b;
  int c;
  int compute;
};

// Returns the types of cublasSgemm and its like, by the letter. prof.json has no complex types.
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

// Returns the handle's cublasMath_t (cublas_api.h), which sets the precision of f32 products. -1:
// not available.
int math_mode(void* real, void* handle) {
  auto* const get = function_beside<int(void*, int*)>(real, "cublasGetMathMode");
  int mode = -1;
  return get != nullptr && get(handle, &mode) == CUBLAS_STATUS_SUCCESS ? mode : -1;
}

// Returns null as compute_type_of does.
const char* compute_type_name(const Types& types, void* real, void* handle) {
  const bool by_handle =
      types.compute == CUBLAS_COMPUTE_32F && types.a == CUDA_R_32F && types.b == CUDA_R_32F;
  const int mode = by_handle ? math_mode(real, handle) : -1;
  if (mode < 0) return compute_type_of(types.compute);
  constexpr int precision_bits = 0xF;  // the other bits concern reductions
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
  product.compute_type = compute_type_name(types, real, shape.handle);
  if (product.compute_type == nullptr) return left_out(call, "compute type", types.compute);
  return gemm_op(call, product);
}

struct Said {
  static constexpr const char* kEventName = "gemm";
  static constexpr int kNotThere = CUBLAS_STATUS_NOT_INITIALIZED;
};

// The positions of a form's own arguments, counted from 0; 0 if it has none.
struct Positions {
  std::size_t batch = 0;
  std::size_t a_type = 0;
  std::size_t b_type = 0;
  std::size_t c_type = 0;
  std::size_t compute = 0;
};

template <const Positions& kAt>
struct SaidByGemm : Said {
  template <typename... A>
  static record::Op describe(const LibraryCall& call, void* real, A... arguments) {
    const std::tuple all(arguments...);
    Shape shape{std::get<0>(all), std::get<1>(all), std::get<2>(all),
                std::get<3>(all), std::get<4>(all), std::get<5>(all)};
    if constexpr (kAt.batch != 0) shape.batch = std::get<kAt.batch>(all);
    if constexpr (kAt.compute == 0) {
      return describe_gemm(call, real, shape, types_of(call));
    } else {
      return describe_gemm(call, real, shape,
                           {std::get<kAt.a_type>(all), std::get<kAt.b_type>(all),
                            std::get<kAt.c_type>(all), std::get<kAt.compute>(all)});
    }
  }
};

constexpr Positions kPlain{};
constexpr Positions kBatched{.batch = 14};
constexpr Positions kStrided{.batch = 17};
constexpr Positions kEx{.a_type = 8, .b_type = 11, .c_type = 15, .compute = 17};
constexpr Positions kBatchedEx{.batch = 17, .a_type = 8, .b_type = 11, .c_type = 15, .compute = 18};
constexpr Positions kStridedEx{.batch = 20, .a_type = 8, .b_type = 12, .c_type = 17, .compute = 21};

template <const Positions& kAt>
using Gemms = DescribedCall<SaidByGemm<kAt>>;

}  // namespace

INLINE_PROF_CUBLAS_CALLS(INLINE_PROF_DEFINE_CALL)

}  // namespace inline_prof::libraries
