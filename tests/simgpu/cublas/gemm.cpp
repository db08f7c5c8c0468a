// Matrix products: argument checks, a kernel name as the vendor's look, one launch.
#include "cublas/handle.hpp"
#include "simgpu.h"

#include <algorithm>
#include <optional>

using namespace inline_prof::simgpu;

namespace {

struct ElementType {
  const char* name;  // as kernel names spell it
  int bytes;
};

// Only of types that arithmetic() below accepts.
ElementType element(cudaDataType type) {
  switch (type) {
    case CUDA_R_16BF:
      return {"bf16", 2};
    case CUDA_R_16F:
      return {"f16", 2};
    case CUDA_R_64F:
      return {"f64", 8};
    case CUDA_R_8I:
      return {"i8", 1};
    case CUDA_R_32I:
      return {"i32", 4};
    default:
      return {"f32", 4};
  }
}

struct Gemm {
  cublasOperation_t trans_a, trans_b;
  std::int64_t m, n, k;
  const void* alpha;
  const void* a;
  cudaDataType a_type;
  std::int64_t lda;
  const void* b;
  cudaDataType b_type;
  std::int64_t ldb;
  const void* beta;
  void* c;
  cudaDataType c_type;
  std::int64_t ldc;
  std::int64_t batch;
  cublasComputeType_t compute;
};

// The arithmetic that kernel names show between input and output type, or null for a combination
// that cuBLAS does not have (cuBLAS 13.0, cublasGemmEx, table of supported types; complex types and
// the emulated modes are not simulated).
const char* arithmetic(const Gemm& g) {
  const auto types = [&](cudaDataType ab, cudaDataType c) {
    return g.a_type == ab && g.b_type == ab && g.c_type == c;
  };
  switch (g.compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      return types(CUDA_R_16F, CUDA_R_16F) ? "f16" : nullptr;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return types(CUDA_R_8I, CUDA_R_32I) ? "i32" : nullptr;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
      return types(CUDA_R_64F, CUDA_R_64F) ? "f64" : nullptr;
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
      return types(CUDA_R_16BF, CUDA_R_16BF) || types(CUDA_R_16F, CUDA_R_16F) ||
                     types(CUDA_R_8I, CUDA_R_32F) || types(CUDA_R_16BF, CUDA_R_32F) ||
                     types(CUDA_R_16F, CUDA_R_32F) || types(CUDA_R_32F, CUDA_R_32F)
                 ? "f32"
                 : nullptr;
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
      return types(CUDA_R_32F, CUDA_R_32F) ? "tf32" : nullptr;
    default:
      return nullptr;
  }
}

bool is_operation(cublasOperation_t operation) {
  return operation == CUBLAS_OP_N || operation == CUBLAS_OP_T || operation == CUBLAS_OP_C;
}

// cuBLAS 13.0, cublas<t>gemm, "CUBLAS_STATUS_INVALID_VALUE: if m, n, k < 0, or if transa, transb is
// not one of CUBLAS_OP_N, CUBLAS_OP_C, CUBLAS_OP_T, or if lda < max(1, m) if transa == CUBLAS_OP_N
// and lda < max(1, k) otherwise, or if ldb < max(1, k) if transb == CUBLAS_OP_N and ldb < max(1, n)
// otherwise, or if ldc < max(1, m), or if alpha, beta == NULL".
bool arguments_are_valid(const Gemm& g) {
  if (g.m < 0 || g.n < 0 || g.k < 0 || g.batch < 0) return false;
  if (!is_operation(g.trans_a) || !is_operation(g.trans_b)) return false;
  const std::int64_t one = 1;
  if (g.lda < std::max(one, g.trans_a == CUBLAS_OP_N ? g.m : g.k)) return false;
  if (g.ldb < std::max(one, g.trans_b == CUBLAS_OP_N ? g.k : g.n)) return false;
  if (g.ldc < std::max(one, g.m)) return false;
  return g.alpha != nullptr && g.beta != nullptr;
}

// C is read unless beta is known to be zero.
bool reads_c(const cublasContext& handle, const Gemm& g) {
  if (handle.pointer_mode == CUBLAS_POINTER_MODE_DEVICE) return true;
  switch (g.compute) {
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
      return *static_cast<const double*>(g.beta) != 0.0;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return *static_cast<const std::int32_t*>(g.beta) != 0;
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:  // plus or minus zero
      return (*static_cast<const std::uint16_t*>(g.beta) & 0x7fffU) != 0;
    default:
      return *static_cast<const float*>(g.beta) != 0.0F;
  }
}

struct Tile {
  int m, n, k;
};

// Larger products get larger tiles, as in the vendor's heuristics; only the name and the grid
// depend on it, the time comes from the model file.
Tile tile_for(const Gemm& g) {
  if (g.m >= 2048 && g.n >= 1024) return {128, 256, 64};
  if (g.m >= 512 && g.n >= 256) return {128, 128, 64};
  return {64, 64, g.k >= 512 ? 64 : 32};
}

std::string kernel_name(const Gemm& g, const Tile& tile, const char* arithmetic_name) {
  const auto letter = [](cublasOperation_t operation) {
    return operation == CUBLAS_OP_N ? "n" : "t";
  };
  const std::string in = element(g.a_type).name;
  const std::string out = element(g.c_type).name;
  const std::string input = std::string(arithmetic_name) == "tf32" ? "tf32" : in;
  return "sm90_xmma_gemm_" + in + input + "_" + out + arithmetic_name + "_" + out + "_" +
         letter(g.trans_a) + letter(g.trans_b) + "_n_tilesize" + std::to_string(tile.m) + "x" +
         std::to_string(tile.n) + "x" + std::to_string(tile.k) +
         "_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas";
}

// The kernel's code is a PTX text with the name and the simulator's work parameter (simgpu.h).
std::string ptx_of(const std::string& name) {
  return "// simulated cuBLAS\n.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry " +
         name + "(\n  .param .align 8 .b8 simgpu_work[16]\n)\n{\n  ret;\n}\n";
}

CUresult load_kernel(cublasContext& handle, const std::string& name, CUfunction& function) {
  const std::lock_guard lock(handle.mutex);
  auto& kernel = handle.kernels[name];
  if (kernel.function == nullptr) {
    // A first product may be captured; loading its code is none of the captured work.
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    handle.driver->exchange_capture_mode(&mode);
    CUresult result = handle.driver->module_load_data(&kernel.module, ptx_of(name).c_str());
    handle.driver->exchange_capture_mode(&mode);
    if (result == CUDA_SUCCESS) {
      result = handle.driver->module_get_function(&kernel.function, kernel.module, name.c_str());
    }
    if (result != CUDA_SUCCESS) {
      handle.kernels.erase(name);
      return result;
    }
  }
  function = kernel.function;
  return CUDA_SUCCESS;
}

cublasStatus_t multiply(const BlasEntry& entry, cublasHandle_t handle, const Gemm& g) {
  if (const int injected = entry.begin(); injected != 0) {
    return static_cast<cublasStatus_t>(injected);
  }
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!arguments_are_valid(g)) return CUBLAS_STATUS_INVALID_VALUE;
  const char* arithmetic_name = arithmetic(g);
  if (arithmetic_name == nullptr) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (g.a_type == CUDA_R_32F && handle->math == CUBLAS_TF32_TENSOR_OP_MATH) {
    arithmetic_name = "tf32";
  }
  if (g.m == 0 || g.n == 0 || g.batch == 0) return CUBLAS_STATUS_SUCCESS;

  const Tile tile = tile_for(g);
  CUfunction function = nullptr;
  if (const CUresult result = load_kernel(*handle, kernel_name(g, tile, arithmetic_name), function);
      result != CUDA_SUCCESS) {
    return status_of(result);
  }
  const auto m = static_cast<double>(g.m), n = static_cast<double>(g.n),
             k = static_cast<double>(g.k), batch = static_cast<double>(g.batch);
  const double c_passes = reads_c(*handle, g) ? 2.0 : 1.0;
  simgpu_work work{.flops = 2.0 * m * n * k * batch,
                   .bytes = batch * (element(g.a_type).bytes * (m * k + k * n) +
                                     element(g.c_type).bytes * c_passes * m * n)};
  void* parameters[] = {&work};
  const auto tiles = [](std::int64_t extent, int size) {
    return static_cast<unsigned>((extent + size - 1) / size);
  };
  return status_of(handle->driver->launch_kernel(function, tiles(g.m, tile.m) * tiles(g.n, tile.n),
                                                 1, static_cast<unsigned>(g.batch), 384, 1, 1, 0,
                                                 handle->stream, parameters, nullptr));
}

}  // namespace

extern "C" {

cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t trans_a,
                              cublasOperation_t trans_b, int m, int n, int k, const float* alpha,
                              const float* a, int lda, const float* b, int ldb, const float* beta,
                              float* c, int ldc) {
  static const BlasEntry entry{__func__};
  return multiply(entry, handle,
                  {trans_a, trans_b, m, n, k, alpha, a, CUDA_R_32F, lda, b, CUDA_R_32F, ldb, beta,
                   c, CUDA_R_32F, ldc, 1, CUBLAS_COMPUTE_32F});
}

cublasStatus_t cublasDgemm_v2(cublasHandle_t handle, cublasOperation_t trans_a,
                              cublasOperation_t trans_b, int m, int n, int k, const double* alpha,
                              const double* a, int lda, const double* b, int ldb,
                              const double* beta, double* c, int ldc) {
  static const BlasEntry entry{__func__};
  return multiply(entry, handle,
                  {trans_a, trans_b, m, n, k, alpha, a, CUDA_R_64F, lda, b, CUDA_R_64F, ldb, beta,
                   c, CUDA_R_64F, ldc, 1, CUBLAS_COMPUTE_64F});
}

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t trans_a,
                                         cublasOperation_t trans_b, int m, int n, int k,
                                         const float* alpha, const float* a, int lda, long long int,
                                         const float* b, int ldb, long long int, const float* beta,
                                         float* c, int ldc, long long int, int batch) {
  static const BlasEntry entry{__func__};
  return multiply(entry, handle,
                  {trans_a, trans_b, m, n, k, alpha, a, CUDA_R_32F, lda, b, CUDA_R_32F, ldb, beta,
                   c, CUDA_R_32F, ldc, batch, CUBLAS_COMPUTE_32F});
}

cublasStatus_t cublasDgemmStridedBatched(cublasHandle_t handle, cublasOperation_t trans_a,
                                         cublasOperation_t trans_b, int m, int n, int k,
                                         const double* alpha, const double* a, int lda,
                                         long long int, const double* b, int ldb, long long int,
                                         const double* beta, double* c, int ldc, long long int,
                                         int batch) {
  static const BlasEntry entry{__func__};
  return multiply(entry, handle,
                  {trans_a, trans_b, m, n, k, alpha, a, CUDA_R_64F, lda, b, CUDA_R_64F, ldb, beta,
                   c, CUDA_R_64F, ldc, batch, CUBLAS_COMPUTE_64F});
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t trans_a,
                            cublasOperation_t trans_b, int m, int n, int k, const void* alpha,
                            const void* a, cudaDataType a_type, int lda, const void* b,
                            cudaDataType b_type, int ldb, const void* beta, void* c,
                            cudaDataType c_type, int ldc, cublasComputeType_t compute,
                            cublasGemmAlgo_t) {
  static const BlasEntry entry{__func__};
  return multiply(entry, handle,
                  {trans_a, trans_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c,
                   c_type, ldc, 1, compute});
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t trans_a,
                                          cublasOperation_t trans_b, int m, int n, int k,
                                          const void* alpha, const void* a, cudaDataType a_type,
                                          int lda, long long int, const void* b,
                                          cudaDataType b_type, int ldb, long long int,
                                          const void* beta, void* c, cudaDataType c_type, int ldc,
                                          long long int, int batch, cublasComputeType_t compute,
                                          cublasGemmAlgo_t) {
  static const BlasEntry entry{__func__};
  return multiply(entry, handle,
                  {trans_a, trans_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c,
                   c_type, ldc, batch, compute});
}

cublasStatus_t cublasSgemm_v2_64(cublasHandle_t handle, cublasOperation_t trans_a,
                                 cublasOperation_t trans_b, std::int64_t m, std::int64_t n,
                                 std::int64_t k, const float* alpha, const float* a,
                                 std::int64_t lda, const float* b, std::int64_t ldb,
                                 const float* beta, float* c, std::int64_t ldc) {
  static const BlasEntry entry{__func__};
  return multiply(entry, handle,
                  {trans_a, trans_b, m, n, k, alpha, a, CUDA_R_32F, lda, b, CUDA_R_32F, ldb, beta,
                   c, CUDA_R_32F, ldc, 1, CUBLAS_COMPUTE_32F});
}

cublasStatus_t cublasDgemm_v2_64(cublasHandle_t handle, cublasOperation_t trans_a,
                                 cublasOperation_t trans_b, std::int64_t m, std::int64_t n,
                                 std::int64_t k, const double* alpha, const double* a,
                                 std::int64_t lda, const double* b, std::int64_t ldb,
                                 const double* beta, double* c, std::int64_t ldc) {
  static const BlasEntry entry{__func__};
  return multiply(entry, handle,
                  {trans_a, trans_b, m, n, k, alpha, a, CUDA_R_64F, lda, b, CUDA_R_64F, ldb, beta,
                   c, CUDA_R_64F, ldc, 1, CUBLAS_COMPUTE_64F});
}

cublasStatus_t cublasSgemmStridedBatched_64(cublasHandle_t handle, cublasOperation_t trans_a,
                                            cublasOperation_t trans_b, std::int64_t m,
                                            std::int64_t n, std::int64_t k, const float* alpha,
                                            const float* a, std::int64_t lda, long long int,
                                            const float* b, std::int64_t ldb, long long int,
                                            const float* beta, float* c, std::int64_t ldc,
                                            long long int, std::int64_t batch) {
  static const BlasEntry entry{__func__};
  return multiply(entry, handle,
                  {trans_a, trans_b, m, n, k, alpha, a, CUDA_R_32F, lda, b, CUDA_R_32F, ldb, beta,
                   c, CUDA_R_32F, ldc, batch, CUBLAS_COMPUTE_32F});
}

cublasStatus_t cublasDgemmStridedBatched_64(cublasHandle_t handle, cublasOperation_t trans_a,
                                            cublasOperation_t trans_b, std::int64_t m,
                                            std::int64_t n, std::int64_t k, const double* alpha,
                                            const double* a, std::int64_t lda, long long int,
                                            const double* b, std::int64_t ldb, long long int,
                                            const double* beta, double* c, std::int64_t ldc,
                                            long long int, std::int64_t batch) {
  static const BlasEntry entry{__func__};
  return multiply(entry, handle,
                  {trans_a, trans_b, m, n, k, alpha, a, CUDA_R_64F, lda, b, CUDA_R_64F, ldb, beta,
                   c, CUDA_R_64F, ldc, batch, CUBLAS_COMPUTE_64F});
}

cublasStatus_t cublasGemmEx_64(cublasHandle_t handle, cublasOperation_t trans_a,
                               cublasOperation_t trans_b, std::int64_t m, std::int64_t n,
                               std::int64_t k, const void* alpha, const void* a,
                               cudaDataType a_type, std::int64_t lda, const void* b,
                               cudaDataType b_type, std::int64_t ldb, const void* beta, void* c,
                               cudaDataType c_type, std::int64_t ldc, cublasComputeType_t compute,
                               cublasGemmAlgo_t) {
  static const BlasEntry entry{__func__};
  return multiply(entry, handle,
                  {trans_a, trans_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c,
                   c_type, ldc, 1, compute});
}

cublasStatus_t cublasGemmStridedBatchedEx_64(
    cublasHandle_t handle, cublasOperation_t trans_a, cublasOperation_t trans_b, std::int64_t m,
    std::int64_t n, std::int64_t k, const void* alpha, const void* a, cudaDataType a_type,
    std::int64_t lda, long long int, const void* b, cudaDataType b_type, std::int64_t ldb,
    long long int, const void* beta, void* c, cudaDataType c_type, std::int64_t ldc, long long int,
    std::int64_t batch, cublasComputeType_t compute, cublasGemmAlgo_t) {
  static const BlasEntry entry{__func__};
  return multiply(entry, handle,
                  {trans_a, trans_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c,
                   c_type, ldc, batch, compute});
}

}  // extern "C"
