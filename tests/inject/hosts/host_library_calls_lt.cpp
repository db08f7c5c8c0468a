// cublasLtMatmul with layouts, transposes, epilogues and types of every kind.  --expect=STATUS:
// what each call must return.
#include "host.hpp"

#include <cublasLt.h>

namespace {

// op(A) is m x k, op(B) k x n, D m x n, each with its own order in memory.
struct Case {
  int batch = 1;
  cublasOperation_t trans_a = CUBLAS_OP_N;
  cublasOperation_t trans_b = CUBLAS_OP_N;
  cublasLtOrder_t order_a = CUBLASLT_ORDER_COL;
  cublasLtOrder_t order_b = CUBLASLT_ORDER_COL;
  cublasLtOrder_t order_d = CUBLASLT_ORDER_COL;
  cudaDataType a_type = CUDA_R_16BF;
  cudaDataType b_type = CUDA_R_16BF;
  cudaDataType d_type = CUDA_R_16BF;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  int m = 5;
  int n = 7;
  int k = 3;
};

cublasLtMatrixLayout_t layout(cudaDataType type, int rows, int columns, cublasLtOrder_t order,
                              int batch) {
  cublasLtMatrixLayout_t made = nullptr;
  const bool by_column = order == CUBLASLT_ORDER_COL;
  CHECK(cublasLtMatrixLayoutCreate(&made, type, static_cast<std::uint64_t>(rows),
                                   static_cast<std::uint64_t>(columns),
                                   by_column ? rows : columns));
  const auto set = [&](cublasLtMatrixLayoutAttribute_t attribute, const auto& value) {
    CHECK(cublasLtMatrixLayoutSetAttribute(made, attribute, &value, sizeof value));
  };
  set(CUBLASLT_MATRIX_LAYOUT_ORDER, order);
  set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, batch);
  set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, static_cast<std::int64_t>(rows) * columns);
  return made;
}

void multiply(cublasLtHandle_t handle, CUstream stream, const Case& c, int expected) {
  cublasLtMatmulDesc_t description = nullptr;
  const bool is_complex = c.a_type == CUDA_C_32F;
  CHECK(cublasLtMatmulDescCreate(&description, c.compute, is_complex ? CUDA_C_32F : CUDA_R_32F));
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    CHECK(cublasLtMatmulDescSetAttribute(description, attribute, &value, sizeof value));
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, c.trans_a);
  set(CUBLASLT_MATMUL_DESC_TRANSB, c.trans_b);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, c.epilogue);
  static char device_memory[64];
  const void* pointer = device_memory;
  set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, pointer);
  const bool is_fp8 = c.a_type == CUDA_R_8F_E4M3;
  if (is_fp8) {
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, pointer);
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, pointer);
  }
  const bool a_lies = c.trans_a != CUBLAS_OP_N;
  const bool b_lies = c.trans_b != CUBLAS_OP_N;
  const auto a = layout(c.a_type, a_lies ? c.k : c.m, a_lies ? c.m : c.k, c.order_a, c.batch);
  const auto b = layout(c.b_type, b_lies ? c.n : c.k, b_lies ? c.k : c.n, c.order_b, c.batch);
  const auto d = layout(c.d_type, c.m, c.n, c.order_d, c.batch);
  const float one[2]{1, 0};
  const float zero[2]{0, 0};
  const int status = cublasLtMatmul(handle, description, one, device_memory, a, device_memory, b,
                                    zero, device_memory, d, device_memory, d, nullptr, nullptr, 0,
                                    reinterpret_cast<cudaStream_t>(stream));
  if (status != expected) host::fail("cublasLtMatmul", status);
  CHECK(cublasLtMatrixLayoutDestroy(a));
  CHECK(cublasLtMatrixLayoutDestroy(b));
  CHECK(cublasLtMatrixLayoutDestroy(d));
  CHECK(cublasLtMatmulDescDestroy(description));
}

}  // namespace

int main(int argc, char** argv) {
  const int expected = host::Arguments(argc, argv).number("--expect", 0);
  host::open_context();
  CUstream stream = host::open_stream();
  cublasLtHandle_t handle = nullptr;
  CHECK(cublasLtCreate(&handle));

  constexpr auto row = CUBLASLT_ORDER_ROW;
  const Case cases[]{
      {},
      {.trans_a = CUBLAS_OP_T, .epilogue = CUBLASLT_EPILOGUE_GELU_BIAS},
      {.trans_b = CUBLAS_OP_T, .epilogue = CUBLASLT_EPILOGUE_BGRADB},
      {.batch = 4, .order_a = row, .order_b = row, .order_d = row},
      {.trans_a = CUBLAS_OP_T, .order_a = row, .order_b = row, .order_d = row},
      {.order_a = row},  // D in columns, A in rows
      {.trans_a = CUBLAS_OP_T,
       .a_type = CUDA_R_8F_E4M3,
       .b_type = CUDA_R_8F_E5M2,
       .m = 16,
       .n = 32,
       .k = 64},
      {.a_type = CUDA_C_32F, .b_type = CUDA_C_32F, .d_type = CUDA_C_32F},
  };
  return host::train(30, [&] {
    for (const Case& each : cases)
      multiply(handle, stream, each, expected);
  });
}
