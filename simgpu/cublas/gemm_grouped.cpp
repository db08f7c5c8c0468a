// Grouped products: groups of different sizes, all of one call in one kernel.
#include "cublas/gemm_call.hpp"

using namespace simgpu;

namespace {

template <typename Index>
struct GroupedCall {
  const cublasOperation_t *trans_a, *trans_b;
  const Index *m, *n, *k;
  const char* alpha;  // an array of numbers of the scale type
  const Index *lda, *ldb;
  const char* beta;
  const Index* ldc;
  std::size_t scale_bytes;
  Index group_count;
  const Index* group_size;
  cudaDataType a_type, b_type, c_type;
  cublasComputeType_t compute;
};

template <typename Index>
cublasStatus_t multiply_groups(cublasContext& h, const GroupedCall<Index>& g) {
  if (g.group_count < 0) return CUBLAS_STATUS_INVALID_VALUE;
  KernelCall grouped;
  grouped.grid = {0, 1, 1};
  for (Index i = 0; i < g.group_count; ++i) {
    const auto at = static_cast<std::size_t>(i) * g.scale_bytes;
    const GemmCall call{g.trans_a[i], g.trans_b[i], g.m[i],   g.n[i],          g.k[i],
                        g.alpha + at, g.a_type,     g.lda[i], g.b_type,        g.ldb[i],
                        g.beta + at,  g.c_type,     g.ldc[i], g.group_size[i], g.compute};
    if (const auto status = check_gemm(call); status != CUBLAS_STATUS_SUCCESS) return status;
    const GemmProblem problem = problem_of(h, call);
    if (arithmetic_of(problem) == nullptr) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (call.m == 0 || call.n == 0 || call.batch == 0) continue;
    // The name is that of the first group; work and blocks add up.
    const KernelCall one = gemm_kernels(problem, gemm_tile(problem), 1, "_grouped").front();
    if (grouped.name.empty()) {
      grouped.name = one.name;
      grouped.threads = one.threads;
    }
    grouped.grid[0] += one.grid[0] * one.grid[2];
    grouped.work.flops += one.work.flops;
    grouped.work.bytes += one.work.bytes;
  }
  if (grouped.name.empty()) return CUBLAS_STATUS_SUCCESS;
  return status_of(h.launch(h.stream, {grouped}));
}

const char* bytes_of(const void* scales) {
  return static_cast<const char*>(scales);
}

// f64 takes its factors in f64, everything else that is supported in f32.
std::size_t scale_bytes_of(cublasComputeType_t compute) {
  return compute == CUBLAS_COMPUTE_64F || compute == CUBLAS_COMPUTE_64F_PEDANTIC ? sizeof(double)
                                                                                 : sizeof(float);
}

}  // namespace

#define SIMGPU_GROUPED_EX(name)                                                                    \
  SIMGPU_HANDLE_CALL(name, trans_a, trans_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, \
                     c, c_type, ldc, group_count, group_size, compute) {                           \
    return multiply_groups(                                                                        \
        h, GroupedCall{trans_a, trans_b, m, n, k, bytes_of(alpha), lda, ldb, bytes_of(beta), ldc,  \
                       scale_bytes_of(compute), group_count, group_size, a_type, b_type, c_type,   \
                       compute});                                                                  \
  }
#define SIMGPU_GROUPED(name)                                                                      \
  SIMGPU_HANDLE_CALL(name, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc,        \
                     group_count, group_size) {                                                   \
    constexpr Letter letter = letter_of(decltype(alpha){});                                       \
    return multiply_groups(                                                                       \
        h, GroupedCall{trans_a, trans_b, m, n, k, bytes_of(alpha), lda, ldb, bytes_of(beta), ldc, \
                       sizeof *alpha, group_count, group_size, letter.type, letter.type,          \
                       letter.type, letter.compute});                                             \
  }

SIMGPU_BOTH_INDICES(SIMGPU_GROUPED_EX, cublasGemmGroupedBatchedEx)
SIMGPU_BOTH_INDICES(SIMGPU_GROUPED, cublasSgemmGroupedBatched)
SIMGPU_BOTH_INDICES(SIMGPU_GROUPED, cublasDgemmGroupedBatched)
