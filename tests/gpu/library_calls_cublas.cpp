// Matrix products of known shapes by cuBLAS and cuBLASLt, each once an iteration.
#include "named_calls.hpp"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <memory>

namespace {

using inline_prof::gpu_test::check;
using inline_prof::gpu_test::NamedCalls;
using inline_prof::gpu_test::NotHere;
using inline_prof::gpu_test::take_memory;

constexpr std::size_t kBytes = std::size_t{64} << 20;  // of each matrix, and of the workspace
const float kOne = 1.0F;
const float kZero = 0.0F;
const double kOneDouble = 1.0;
const double kZeroDouble = 0.0;

void accept(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string(what) + " answers " + cublasGetStatusString(status));
}

struct Memory {
  void* a = take_memory(kBytes);
  void* b = take_memory(kBytes);
  void* c = take_memory(kBytes);
  void* workspace = take_memory(kBytes);
};

// --- cuBLAS

void add_typed_products(NamedCalls& calls, cublasHandle_t handle, const Memory& memory) {
  const auto* a = static_cast<const float*>(memory.a);
  const auto* b = static_cast<const float*>(memory.b);
  auto* c = static_cast<float*>(memory.c);
  calls.add_plain("sgemm", [=] {
    accept(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 64, 48, 32, &kOne, a, 64, b, 32, &kZero, c,
                       64),
           "cublasSgemm");
  });
  calls.add_plain("sgemm in tf32, A transposed", [=] {
    accept(cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH), "cublasSetMathMode");
    const cublasStatus_t status = cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, 128, 80, 96, &kOne,
                                              a, 96, b, 96, &kZero, c, 128);
    accept(cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH), "cublasSetMathMode");
    accept(status, "cublasSgemm");
  });
  calls.add_plain("dgemm, B transposed", [=] {
    accept(
        cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, 40, 56, 24, &kOneDouble,
                    static_cast<const double*>(memory.a), 40, static_cast<const double*>(memory.b),
                    56, &kZeroDouble, static_cast<double*>(memory.c), 40),
        "cublasDgemm");
  });
  calls.add("sgemm in batches, by pointers", [=] {
    constexpr std::size_t batch = 3;
    const std::array<const void*, 3 * batch> host{memory.a, memory.a, memory.a, memory.b, memory.b,
                                                  memory.b, memory.c, memory.c, memory.c};
    void* device = take_memory(sizeof host);
    check(cudaMemcpy(device, host.data(), sizeof host, cudaMemcpyHostToDevice), "cudaMemcpy");
    return [=] {
      auto* pointers = static_cast<float**>(device);
      accept(cublasSgemmBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 72, 88, 104, &kOne, pointers, 72,
                                pointers + batch, 104, &kZero, pointers + 2 * batch, 72,
                                static_cast<int>(batch)),
             "cublasSgemmBatched");
    };
  });
}

struct Shape {
  int m;
  int n;
  int k;
};

// Adds a product with f32 sums.
void add_gemm_ex(NamedCalls& calls, cublasHandle_t handle, const Memory& memory,
                 const std::string& name, const Shape& shape, cudaDataType inputs,
                 cudaDataType output) {
  calls.add_plain(name, [=] {
    accept(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, shape.m, shape.n, shape.k, &kOne,
                        memory.a, inputs, shape.m, memory.b, inputs, shape.k, &kZero, memory.c,
                        output, shape.m, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
           "cublasGemmEx");
  });
}

void add_products(NamedCalls& calls, cublasHandle_t handle, const Memory& memory) {
  add_typed_products(calls, handle, memory);
  add_gemm_ex(calls, handle, memory, "gemmEx of bf16 to f32", {256, 512, 1024}, CUDA_R_16BF,
              CUDA_R_32F);
  for (const auto& [name, shape] : {std::pair{"gemmEx of f16, large", Shape{4096, 2048, 1024}},
                                    std::pair{"gemmEx of f16, one column", Shape{2048, 1, 4096}},
                                    std::pair{"gemmEx of f16, long k", Shape{64, 72, 16384}}})
    add_gemm_ex(calls, handle, memory, name, shape, CUDA_R_16F, CUDA_R_16F);
  calls.add_plain("gemmStridedBatchedEx of f16", [=] {
    constexpr int batch = 6;
    constexpr long long m = 128, n = 64, k = 96;
    accept(cublasGemmStridedBatchedEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, m, n, k, &kOne, memory.a,
                                      CUDA_R_16F, k, m * k, memory.b, CUDA_R_16F, k, n * k, &kZero,
                                      memory.c, CUDA_R_16F, m, m * n, batch, CUBLAS_COMPUTE_32F,
                                      CUBLAS_GEMM_DEFAULT),
           "cublasGemmStridedBatchedEx");
  });
}

// --- cuBLASLt

// op(A) is m x k, op(B) k x n, D m x n, all in the same order.
struct Product {
  std::string name;
  Shape shape;
  cudaDataType inputs = CUDA_R_16BF;
  cudaDataType output = CUDA_R_16BF;
  cublasOperation_t trans_a = CUBLAS_OP_N;
  cublasLtOrder_t order = CUBLASLT_ORDER_COL;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  int batch = 1;
  int least_capability = 80;
};

cublasLtMatrixLayout_t layout(const Product& product, cudaDataType type, int rows, int columns) {
  cublasLtMatrixLayout_t made = nullptr;
  const bool by_column = product.order == CUBLASLT_ORDER_COL;
  accept(
      cublasLtMatrixLayoutCreate(&made, type, static_cast<std::uint64_t>(rows),
                                 static_cast<std::uint64_t>(columns), by_column ? rows : columns),
      "cublasLtMatrixLayoutCreate");
  const std::int32_t order = product.order;
  const std::int32_t batch = product.batch;
  const std::int64_t stride = static_cast<std::int64_t>(rows) * columns;
  const auto set = [&](cublasLtMatrixLayoutAttribute_t name, const void* value, std::size_t size) {
    accept(cublasLtMatrixLayoutSetAttribute(made, name, value, size),
           "cublasLtMatrixLayoutSetAttribute");
  };
  set(CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof order);
  set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch);
  set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride);
  return made;
}

// "id 66, tile 20, stages 10, splits of k 1"; -1: not told.
std::string words_of(const cublasLtMatmulAlgo_t& algorithm) {
  const auto number = [&](cublasLtMatmulAlgoConfigAttributes_t name) {
    std::int32_t value = -1;
    std::size_t written = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoConfigGetAttribute(&algorithm, name, &value, sizeof value, &written);
    return std::to_string(status == CUBLAS_STATUS_SUCCESS ? value : -1);
  };
  return "id " + number(CUBLASLT_ALGO_CONFIG_ID) + ", tile " +
         number(CUBLASLT_ALGO_CONFIG_TILE_ID) + ", stages " +
         number(CUBLASLT_ALGO_CONFIG_STAGES_ID) + ", splits of k " +
         number(CUBLASLT_ALGO_CONFIG_SPLITK_NUM) + ", reduction " +
         number(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
}

// The descriptors of a product live as long as the process.
struct Prepared {
  cublasLtMatmulDesc_t description = nullptr;
  cublasLtMatrixLayout_t a = nullptr;
  cublasLtMatrixLayout_t b = nullptr;
  cublasLtMatrixLayout_t d = nullptr;
  cublasLtMatmulAlgo_t algorithm = {};
};

void choose_algorithm(cublasLtHandle_t handle, Prepared& prepared) {
  cublasLtMatmulPreference_t preference = nullptr;
  accept(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
  accept(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                              &kBytes, sizeof kBytes),
         "cublasLtMatmulPreferenceSetAttribute");
  cublasLtMatmulHeuristicResult_t result{};
  int count = 0;
  accept(cublasLtMatmulAlgoGetHeuristic(handle, prepared.description, prepared.a, prepared.b,
                                        prepared.d, prepared.d, preference, 1, &result, &count),
         "cublasLtMatmulAlgoGetHeuristic");
  accept(cublasLtMatmulPreferenceDestroy(preference), "cublasLtMatmulPreferenceDestroy");
  if (count < 1) throw std::runtime_error("cublasLtMatmulAlgoGetHeuristic has no algorithm");
  accept(result.state, "the heuristic's first algorithm");
  prepared.algorithm = result.algo;
}

Prepared prepare(cublasLtHandle_t handle, const Memory& memory, const Product& product) {
  Prepared made;
  accept(cublasLtMatmulDescCreate(&made.description, CUBLAS_COMPUTE_32F, CUDA_R_32F),
         "cublasLtMatmulDescCreate");
  const auto set = [&](cublasLtMatmulDescAttributes_t name, const void* value, std::size_t size) {
    accept(cublasLtMatmulDescSetAttribute(made.description, name, value, size),
           "cublasLtMatmulDescSetAttribute");
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, &product.trans_a, sizeof product.trans_a);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, &product.epilogue, sizeof product.epilogue);
  if (product.epilogue != CUBLASLT_EPILOGUE_DEFAULT) {
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, &memory.workspace, sizeof memory.workspace);
  }
  if (product.inputs == CUDA_R_8F_E4M3) {
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &memory.workspace, sizeof memory.workspace);
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &memory.workspace, sizeof memory.workspace);
  }
  const auto [m, n, k] = product.shape;
  const bool a_lies = product.trans_a != CUBLAS_OP_N;
  made.a = layout(product, product.inputs, a_lies ? k : m, a_lies ? m : k);
  made.b = layout(product, product.inputs, k, n);
  made.d = layout(product, product.output, m, n);
  choose_algorithm(handle, made);
  return made;
}

int compute_capability() {
  int major = 0;
  int minor = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), "the capability");
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0), "the capability");
  return 10 * major + minor;
}

void add_matmul(NamedCalls& calls, cublasLtHandle_t handle, cudaStream_t stream,
                const Memory& memory, const Product& product) {
  calls.add(product.name, [&] {
    if (compute_capability() < product.least_capability) {
      throw NotHere("needs capability " + std::to_string(product.least_capability / 10) + "." +
                    std::to_string(product.least_capability % 10));
    }
    const Prepared made = prepare(handle, memory, product);
    std::printf("about %s: %s\n", product.name.c_str(), words_of(made.algorithm).c_str());
    // The workspace lies behind what the scales and the bias are read from.
    constexpr std::size_t apart = std::size_t{1} << 20;
    void* workspace = static_cast<char*>(memory.workspace) + apart;
    return [=] {
      accept(cublasLtMatmul(handle, made.description, &kOne, memory.a, made.a, memory.b, made.b,
                            &kZero, memory.c, made.d, memory.c, made.d, &made.algorithm, workspace,
                            kBytes - apart, stream),
             "cublasLtMatmul");
    };
  });
}

void add_matmuls(NamedCalls& calls, cublasLtHandle_t handle, cudaStream_t stream,
                 const Memory& memory) {
  const Product products[]{
      {.name = "Lt of bf16, A transposed, with bias and relu",
       .shape = {192, 160, 128},
       .trans_a = CUBLAS_OP_T,
       .epilogue = CUBLASLT_EPILOGUE_RELU_BIAS},
      {.name = "Lt of f16 by rows",
       .shape = {144, 112, 80},
       .inputs = CUDA_R_16F,
       .output = CUDA_R_16F,
       .order = CUBLASLT_ORDER_ROW},
      {.name = "Lt of bf16 in batches", .shape = {256, 128, 64}, .batch = 4},
      {.name = "Lt of f8 to bf16",
       .shape = {256, 384, 512},
       .inputs = CUDA_R_8F_E4M3,
       .trans_a = CUBLAS_OP_T,
       .least_capability = 89},
      {.name = "Lt of bf16, large", .shape = {4096, 2048, 2048}, .trans_a = CUBLAS_OP_T},
      {.name = "Lt of bf16, long k", .shape = {80, 64, 16384}, .trans_a = CUBLAS_OP_T},
  };
  for (const Product& product : products)
    add_matmul(calls, handle, stream, memory, product);
}

}  // namespace

int main(int argc, char** argv) {
  return inline_prof::gpu_test::make_calls(argc, argv, [](NamedCalls& calls, cudaStream_t stream) {
    const Memory memory;
    cublasHandle_t handle = nullptr;
    cublasLtHandle_t lt_handle = nullptr;
    accept(cublasCreate(&handle), "cublasCreate");
    accept(cublasSetStream(handle, stream), "cublasSetStream");
    accept(cublasLtCreate(&lt_handle), "cublasLtCreate");
    add_products(calls, handle, memory);
    add_matmuls(calls, lt_handle, stream, memory);
  });
}
