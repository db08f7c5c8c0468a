// cublasLtMatmul and its descriptors on the simulated GPU; the argument names the scene.
#include "scenes.hpp"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <vector>

namespace {

cublasLtHandle_t handle = nullptr;
void* data = nullptr;
constexpr std::size_t kDataBytes = std::size_t{1} << 28;

void show(const char* what, cublasStatus_t status) {
  std::printf("%s %s\n", what, cublasLtGetStatusName(status));
}

struct Layout {
  Layout(cudaDataType type, int rows, int cols, int ld) {
    CHECK(cublasLtMatrixLayoutCreate(&value, type, static_cast<std::uint64_t>(rows),
                                     static_cast<std::uint64_t>(cols), ld));
  }
  ~Layout() { CHECK(cublasLtMatrixLayoutDestroy(value)); }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  template <typename Value>
  void set(cublasLtMatrixLayoutAttribute_t attribute, Value v) const {
    CHECK(cublasLtMatrixLayoutSetAttribute(value, attribute, &v, sizeof v));
  }
  cublasLtMatrixLayout_t value = nullptr;
};

struct Desc {
  explicit Desc(cublasComputeType_t compute = CUBLAS_COMPUTE_32F) {
    CHECK(cublasLtMatmulDescCreate(&value, compute, CUDA_R_32F));
  }
  ~Desc() { CHECK(cublasLtMatmulDescDestroy(value)); }
  Desc(const Desc&) = delete;
  Desc& operator=(const Desc&) = delete;
  template <typename Value>
  void set(cublasLtMatmulDescAttributes_t attribute, Value v) const {
    CHECK(cublasLtMatmulDescSetAttribute(value, attribute, &v, sizeof v));
  }
  void transpose_a() const { set<std::int32_t>(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T); }
  cublasLtMatmulDesc_t value = nullptr;
};

cublasStatus_t multiply(const Desc& desc, const Layout& a, const Layout& b, const Layout& d,
                        const cublasLtMatmulAlgo_t* algo = nullptr,
                        std::size_t workspace_bytes = 0) {
  const float one = 1, zero = 0;
  void* workspace = workspace_bytes == 0 ? nullptr : data;
  return cublasLtMatmul(handle, desc.value, &one, data, a.value, data, b.value, &zero, data,
                        d.value, data, d.value, algo, workspace, workspace_bytes, nullptr);
}

// Sizes are checked, a size of zero asks for one.
void attributes() {
  const Desc desc;
  std::int32_t value = -1;
  std::size_t written = 0;
  const auto get = [&](void* buffer, std::size_t bytes, std::size_t* out) {
    return cublasLtMatmulDescGetAttribute(desc.value, CUBLASLT_MATMUL_DESC_TRANSA, buffer, bytes,
                                          out);
  };
  show("get", get(&value, sizeof value, &written));
  std::printf("%d in %zu bytes\n", value, written);
  written = 0;
  show("ask", get(nullptr, 0, &written));
  std::printf("needs %zu bytes\n", written);
  show("nowhere", get(nullptr, 0, nullptr));
  show("too large", get(&value, 8, &written));
  const std::int64_t wide = 1;
  show("set wide",
       cublasLtMatmulDescSetAttribute(desc.value, CUBLASLT_MATMUL_DESC_TRANSA, &wide, sizeof wide));
  show("set null", cublasLtMatmulDescSetAttribute(desc.value, CUBLASLT_MATMUL_DESC_TRANSA, nullptr,
                                                  sizeof(std::int32_t)));
  desc.transpose_a();
  CHECK(get(&value, sizeof value, nullptr));
  std::printf("transposed: %d\n", value);

  // In memory of the program's own.
  cublasLtMatrixLayoutOpaque_t own{};
  show("init", cublasLtMatrixLayoutInit(&own, CUDA_R_16BF, 128, 64, 256));
  std::int64_t ld = 0;
  CHECK(cublasLtMatrixLayoutGetAttribute(&own, CUBLASLT_MATRIX_LAYOUT_LD, &ld, sizeof ld, nullptr));
  std::printf("ld %d\n", static_cast<int>(ld));
  show("too small", cublasLtMatrixLayoutInit_internal(&own, 8, CUDA_R_16BF, 128, 64, 256));
}

// One product of each kind; the test reads their kernels in the truth file.
void products() {
  const Desc plain;
  const Layout a(CUDA_R_16BF, 1024, 512, 1024), b(CUDA_R_16BF, 512, 256, 512),
      d(CUDA_R_16BF, 1024, 256, 1024);
  show("plain", multiply(plain, a, b, d));

  const Desc with_bias;
  with_bias.set<std::uint32_t>(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
  show("no bias", multiply(with_bias, a, b, d));
  with_bias.set<const void*>(CUBLASLT_MATMUL_DESC_BIAS_POINTER, data);
  with_bias.set<void*>(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, data);
  with_bias.set<std::int64_t>(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, 1023);
  show("odd ld", multiply(with_bias, a, b, d));
  with_bias.set<std::int64_t>(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, 1024);
  show("epilogue", multiply(with_bias, a, b, d));

  // The same product, all matrices row-major.
  const Layout ra(CUDA_R_16BF, 1024, 512, 512), rb(CUDA_R_16BF, 512, 256, 256),
      rd(CUDA_R_16BF, 1024, 256, 256);
  for (const Layout* layout : {&ra, &rb, &rd}) {
    layout->set<std::int32_t>(CUBLASLT_MATRIX_LAYOUT_ORDER, CUBLASLT_ORDER_ROW);
  }
  show("row-major", multiply(plain, ra, rb, rd));

  const Layout wrong_k(CUDA_R_16BF, 500, 256, 512), short_ld(CUDA_R_16BF, 1024, 256, 1000);
  show("wrong k", multiply(plain, a, wrong_k, d));
  show("short ld", multiply(plain, a, b, short_ld));
  const Layout three(CUDA_R_16BF, 1024, 256, 1024);
  three.set<std::int32_t>(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 3);
  show("batches differ", multiply(plain, a, b, three));
  const Desc scaled;
  scaled.set<const void*>(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, data);
  show("scale of bf16", multiply(scaled, a, b, d));
}

void fp8() {
  const Desc desc;
  desc.transpose_a();
  desc.set<const void*>(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, data);
  desc.set<const void*>(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, data);
  desc.set<std::int8_t>(CUBLASLT_MATMUL_DESC_FAST_ACCUM, 1);
  const Layout a(CUDA_R_8F_E4M3, 4096, 4096, 4096), b(CUDA_R_8F_E5M2, 4096, 4096, 4096),
      d(CUDA_R_16BF, 4096, 4096, 4096);
  show("tn", multiply(desc, a, b, d));
  desc.set<std::int32_t>(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_N);
  show("nn", multiply(desc, a, b, d));
  desc.transpose_a();
  const Layout e5m2(CUDA_R_8F_E5M2, 4096, 4096, 4096);
  show("both e5m2", multiply(desc, e5m2, b, d));
}

// A product with a large k: the heuristic's first choice is split in 8, which needs workspace.
void heuristic() {
  const Desc desc;
  const Layout a(CUDA_R_16BF, 64, 16384, 64), b(CUDA_R_16BF, 16384, 128, 16384),
      d(CUDA_R_16BF, 64, 128, 64);
  cublasLtMatmulPreference_t preference = nullptr;
  CHECK(cublasLtMatmulPreferenceCreate(&preference));
  std::vector<cublasLtMatmulHeuristicResult_t> results(8);
  int count = 0;
  const auto ask = [&] {
    return cublasLtMatmulAlgoGetHeuristic(handle, desc.value, a.value, b.value, d.value, d.value,
                                          preference, static_cast<int>(results.size()),
                                          results.data(), &count);
  };
  const auto splits_of = [](const cublasLtMatmulAlgo_t& algo) {
    std::int32_t splits = 0;
    CHECK(cublasLtMatmulAlgoConfigGetAttribute(&algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &splits,
                                               sizeof splits, nullptr));
    return splits;
  };
  CHECK(ask());
  std::printf("no workspace: %d algorithms, first split %d\n", count, splits_of(results[0].algo));
  const std::uint64_t limit = std::uint64_t{1} << 20;
  CHECK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                             &limit, sizeof limit));
  CHECK(ask());
  std::printf("1 MiB: %d algorithms, first split %d, needs %zu\n", count,
              splits_of(results[0].algo), results[0].workspaceSize);
  const auto first = results[0];
  show("without room", multiply(desc, a, b, d, &first.algo, 1024));
  show("with room", multiply(desc, a, b, d, &first.algo, first.workspaceSize));
  const cublasLtMatmulAlgo_t nothing{};
  show("not an algorithm", multiply(desc, a, b, d, &nothing));
  CHECK(cublasLtMatmulPreferenceDestroy(preference));
}

// A handle of cuBLAS serves where one of cuBLASLt is asked for.
void cast_handle() {
  cublasHandle_t blas = nullptr;
  CHECK(cublasCreate(&blas));
  cublasLtHandle_t own = handle;
  handle = reinterpret_cast<cublasLtHandle_t>(blas);
  const Desc desc;
  const Layout m(CUDA_R_32F, 64, 64, 64);
  show("cast", multiply(desc, m, m, m));
  CHECK(cudaDeviceSynchronize());
  CHECK(cublasDestroy(blas));
  handle = own;
}

}  // namespace

int main(int, char** argv) {
  if (const auto status = cublasLtCreate(&handle); status != CUBLAS_STATUS_SUCCESS) {
    show("create", status);
    return 1;
  }
  CHECK(cudaMalloc(&data, kDataBytes));
  const int status = play(argv[1], {{"attributes", attributes},
                                    {"products", products},
                                    {"fp8", fp8},
                                    {"heuristic", heuristic},
                                    {"cast_handle", cast_handle}});
  CHECK(cudaDeviceSynchronize());
  CHECK(cublasLtDestroy(handle));
  return status;
}
