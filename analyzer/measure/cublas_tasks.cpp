#include "measure/gpu.hpp"
#include "measure/kernels.hpp"
#include "measure/tasks.hpp"

#include <cublasLt.h>
#include <cublas_v2.h>

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>

namespace inline_prof::measure {
namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;  // what NVIDIA advises for Hopper
constexpr float kOne = 1.0F;
constexpr float kZero = 0.0F;

// The header overloads this function, so decltype cannot name it.
using GemmStridedBatchedEx = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t,
                                            int, int, int, const void*, const void*, cudaDataType,
                                            int, long long, const void*, cudaDataType, int,
                                            long long, const void*, void*, cudaDataType, int,
                                            long long, int, cublasComputeType_t, cublasGemmAlgo_t);

struct CublasFunctions {
  DynamicLibrary library{"libcublas.so.13", "libcublas.so.12"};
  decltype(&cublasCreate_v2) create = library.find("cublasCreate_v2");
  decltype(&cublasSetStream_v2) set_stream = library.find("cublasSetStream_v2");
  decltype(&cublasSetWorkspace_v2) set_workspace = library.find("cublasSetWorkspace_v2");
  decltype(&cublasGetVersion_v2) get_version = library.find("cublasGetVersion_v2");
  GemmStridedBatchedEx* gemm = library.find("cublasGemmStridedBatchedEx");
};

struct CublasLtFunctions {
  DynamicLibrary library{"libcublasLt.so.13", "libcublasLt.so.12"};
  decltype(&cublasLtCreate) create = library.find("cublasLtCreate");
  decltype(&cublasLtGetVersion) get_version = library.find("cublasLtGetVersion");
  decltype(&cublasLtMatmulDescCreate) make_product = library.find("cublasLtMatmulDescCreate");
  decltype(&cublasLtMatmulDescDestroy) destroy_product = library.find("cublasLtMatmulDescDestroy");
  decltype(&cublasLtMatmulDescSetAttribute) set_of_product =
      library.find("cublasLtMatmulDescSetAttribute");
  decltype(&cublasLtMatrixLayoutCreate) make_layout = library.find("cublasLtMatrixLayoutCreate");
  decltype(&cublasLtMatrixLayoutSetAttribute) set_of_layout =
      library.find("cublasLtMatrixLayoutSetAttribute");
  decltype(&cublasLtMatrixLayoutDestroy) destroy_layout =
      library.find("cublasLtMatrixLayoutDestroy");
  decltype(&cublasLtMatmulPreferenceCreate) make_preference =
      library.find("cublasLtMatmulPreferenceCreate");
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_of_preference =
      library.find("cublasLtMatmulPreferenceSetAttribute");
  decltype(&cublasLtMatmulPreferenceDestroy) destroy_preference =
      library.find("cublasLtMatmulPreferenceDestroy");
  decltype(&cublasLtMatmulAlgoGetHeuristic) choose = library.find("cublasLtMatmulAlgoGetHeuristic");
  decltype(&cublasLtMatmul) matmul = library.find("cublasLtMatmul");
};

void check_blas(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Skipped(fmt::format("{} answers {}", what, static_cast<int>(status)));
}

std::string version_words(const char* library, std::size_t version) {
  return fmt::format("{} {}.{}.{}", library, version / 10000, version % 10000 / 100, version % 100);
}

cudaDataType data_type(std::string_view type) {
  switch (element_of(type)) {
    case Element::kF32:
      return CUDA_R_32F;
    case Element::kF16:
      return CUDA_R_16F;
    case Element::kBf16:
      return CUDA_R_16BF;
    case Element::kF8e4m3:
      return CUDA_R_8F_E4M3;
  }
  return CUDA_R_32F;
}

// A product of row-major matrices, C[m,n] = A[m,k] B[k,n], which is C' = B' A' of column-major
// ones.
struct Product {
  std::int64_t m, n, k, batch;
  bool trans_a, trans_b;
  std::string a_type, b_type, c_type;
  cublasComputeType_t compute;

  [[nodiscard]] std::int64_t a_leading() const { return trans_a ? m : k; }
  [[nodiscard]] std::int64_t b_leading() const { return trans_b ? k : n; }
};

Product product_of(const read::Op& op) {
  Product product{.m = integer(op, "m"),
                  .n = integer(op, "n"),
                  .k = integer(op, "k"),
                  .batch = integer_or(op, "batch", 1),
                  .trans_a = is_set(op, "trans_a"),
                  .trans_b = is_set(op, "trans_b"),
                  .a_type = text_or(op, "a_type", ""),
                  .b_type = text_or(op, "b_type", text_or(op, "a_type", "")),
                  .c_type = text_or(op, "c_type", text_or(op, "a_type", "")),
                  .compute = CUBLAS_COMPUTE_32F};
  const std::string compute = text_or(op, "compute_type", "f32");
  if (compute == "f16") {
    throw Skipped("products that add up in f16 are not measured");
  }
  if (compute == "tf32" || product.a_type == "tf32") product.compute = CUBLAS_COMPUTE_32F_FAST_TF32;
  constexpr std::int64_t most_side = 1 << 30;
  for (const std::int64_t side : {product.m, product.n, product.k, product.batch}) {
    if (side > most_side) throw Skipped(fmt::format("a side of {} is too long", side));
  }
  return product;
}

struct Operands {
  void* a;
  void* b;
  void* c;
};

Operands take_operands(Gpu& gpu, const Product& product) {
  return {.a = take_normal(gpu, product.batch * product.m * product.k, product.a_type, 1),
          .b = take_normal(gpu, product.batch * product.k * product.n, product.b_type, 2),
          .c = take_normal(gpu, product.batch * product.m * product.n, product.c_type, 3)};
}

// Returns an epilogue that needs no memory beside a bias.
std::optional<cublasLtEpilogue_t> epilogue_of(const std::string& name) {
  constexpr std::pair<const char*, cublasLtEpilogue_t> known[] = {
      {"none", CUBLASLT_EPILOGUE_DEFAULT}, {"relu", CUBLASLT_EPILOGUE_RELU},
      {"bias", CUBLASLT_EPILOGUE_BIAS},    {"relu_bias", CUBLASLT_EPILOGUE_RELU_BIAS},
      {"gelu", CUBLASLT_EPILOGUE_GELU},    {"gelu_bias", CUBLASLT_EPILOGUE_GELU_BIAS}};
  for (const auto& [word, value] : known) {
    if (name == word) return value;
  }
  return std::nullopt;
}

struct Blas {
  CublasFunctions functions;
  cublasHandle_t handle = nullptr;

  explicit Blas(const Gpu& gpu) {
    check_blas(functions.create(&handle), "cublasCreate");
    check_blas(functions.set_stream(handle, gpu.stream()), "cublasSetStream");
  }
};

struct BlasLt {
  CublasLtFunctions functions;
  cublasLtHandle_t handle = nullptr;

  BlasLt() { check_blas(functions.create(&handle), "cublasLtCreate"); }
};

Work blas_product(Gpu& gpu, const Product& product, const Operands& operands) {
  static const auto& blas = *new Blas(gpu);
  const CublasFunctions& functions = blas.functions;
  check_blas(functions.set_workspace(blas.handle, gpu.take(kWorkspaceBytes), kWorkspaceBytes),
             "cublasSetWorkspace");
  int version = 0;
  check_blas(functions.get_version(blas.handle, &version), "cublasGetVersion");
  // The handle's stream is the GPU's: setting it again would take the workspace away.
  const auto run = [product, operands](cudaStream_t) {
    const auto narrow = [](std::int64_t side) { return static_cast<int>(side); };
    check_blas(
        blas.functions.gemm(blas.handle, product.trans_b ? CUBLAS_OP_T : CUBLAS_OP_N,
                            product.trans_a ? CUBLAS_OP_T : CUBLAS_OP_N, narrow(product.n),
                            narrow(product.m), narrow(product.k), &kOne, operands.b,
                            data_type(product.b_type), narrow(product.b_leading()),
                            product.k * product.n, operands.a, data_type(product.a_type),
                            narrow(product.a_leading()), product.m * product.k, &kZero, operands.c,
                            data_type(product.c_type), narrow(product.n), product.m * product.n,
                            narrow(product.batch), product.compute, CUBLAS_GEMM_DEFAULT),
        "cublasGemmStridedBatchedEx");
  };
  return {.run = run, .library = version_words("cublas", static_cast<std::size_t>(version))};
}

cublasLtMatrixLayout_t layout_of(const CublasLtFunctions& lt, const std::string& type,
                                 std::int64_t rows, std::int64_t columns, std::int64_t leading,
                                 std::int64_t batch) {
  cublasLtMatrixLayout_t made = nullptr;
  check_blas(lt.make_layout(&made, data_type(type), static_cast<std::uint64_t>(rows),
                            static_cast<std::uint64_t>(columns), leading),
             "cublasLtMatrixLayoutCreate");
  if (batch > 1) {
    const auto count = static_cast<std::int32_t>(batch);
    const std::int64_t stride = rows * columns;
    check_blas(lt.set_of_layout(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
               "batch count");
    check_blas(
        lt.set_of_layout(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride),
        "batch stride");
  }
  return made;
}

Work lt_product(Gpu& gpu, const Product& product, const Operands& operands,
                const std::string& epilogue_name) {
  static const auto& blas = *new BlasLt;
  const CublasLtFunctions& lt = blas.functions;
  const auto epilogue = epilogue_of(epilogue_name);
  if (!epilogue) throw Skipped(fmt::format("epilogue {} is not measured", epilogue_name));
  struct Descriptors {
    cublasLtMatmulDesc_t product = nullptr;
    cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
    cublasLtMatmulPreference_t preference = nullptr;
    const CublasLtFunctions* lt;
    explicit Descriptors(const CublasLtFunctions& functions) : lt(&functions) {}
    Descriptors(const Descriptors&) = delete;
    Descriptors& operator=(const Descriptors&) = delete;
    ~Descriptors() {
      if (preference != nullptr) lt->destroy_preference(preference);
      for (cublasLtMatrixLayout_t made : {a, b, c}) {
        if (made != nullptr) lt->destroy_layout(made);
      }
      if (product != nullptr) lt->destroy_product(product);
    }
  };
  const auto made = std::make_shared<Descriptors>(lt);
  check_blas(lt.make_product(&made->product, product.compute, CUDA_R_32F),
             "cublasLtMatmulDescCreate");
  const auto set = [&](cublasLtMatmulDescAttributes_t what, const auto& value) {
    check_blas(lt.set_of_product(made->product, what, &value, sizeof value),
               "cublasLtMatmulDescSetAttribute");
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, product.trans_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_TRANSB, product.trans_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, *epilogue);
  if (epilogue_name.find("bias") != std::string::npos) {
    const void* bias = take_normal(gpu, product.n, product.c_type, 4);
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  }
  if (element_of(product.a_type) == Element::kF8e4m3) {
    const std::int8_t fast = 1;  // as training does it
    set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, fast);
  }
  const bool tb = product.trans_b;
  const bool ta = product.trans_a;
  made->b = layout_of(lt, product.b_type, tb ? product.k : product.n, tb ? product.n : product.k,
                      product.b_leading(), product.batch);
  made->a = layout_of(lt, product.a_type, ta ? product.m : product.k, ta ? product.k : product.m,
                      product.a_leading(), product.batch);
  made->c = layout_of(lt, product.c_type, product.n, product.m, product.n, product.batch);
  check_blas(lt.make_preference(&made->preference), "cublasLtMatmulPreferenceCreate");
  check_blas(lt.set_of_preference(made->preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                  &kWorkspaceBytes, sizeof kWorkspaceBytes),
             "cublasLtMatmulPreferenceSetAttribute");
  cublasLtMatmulHeuristicResult_t best{};
  int found = 0;
  check_blas(lt.choose(blas.handle, made->product, made->b, made->a, made->c, made->c,
                       made->preference, 1, &best, &found),
             "cublasLtMatmulAlgoGetHeuristic");
  if (found < 1) throw Skipped("cuBLASLt has no algorithm for this product");
  void* workspace = gpu.take(kWorkspaceBytes);
  const auto run = [made, operands, workspace, algo = best.algo](cudaStream_t stream) {
    check_blas(blas.functions.matmul(blas.handle, made->product, &kOne, operands.b, made->b,
                                     operands.a, made->a, &kZero, operands.c, made->c, operands.c,
                                     made->c, &algo, workspace, kWorkspaceBytes, stream),
               "cublasLtMatmul");
  };
  return {.run = run, .library = version_words("cublasLt", lt.get_version())};
}

}  // namespace

Work gemm_work(const read::Op& op, Gpu& gpu) {
  const Product product = product_of(op);
  const Operands operands = take_operands(gpu, product);
  const std::string epilogue = text_or(op, "epilogue", "none");
  const bool is_f8 = element_of(product.a_type) == Element::kF8e4m3;
  if (!is_f8 && op.source != "cublasLtMatmul" && epilogue == "none") {
    return blas_product(gpu, product, operands);
  }
  Work work = lt_product(gpu, product, operands, epilogue);
  if (text_or(op, "recipe", "").empty()) return work;
  if (!is_f8) throw Skipped(fmt::format("{} is not quantised", product.a_type));
  const std::int64_t count = product.batch * product.m * product.k;
  const void* from = take_normal(gpu, count, "bf16", 5);
  auto* largest = static_cast<float*>(gpu.take(sizeof(float)));
  work.run = [multiply = std::move(work.run), from, operands, largest, count](cudaStream_t stream) {
    launch_quantise(stream, from, operands.a, largest, static_cast<std::size_t>(count));
    multiply(stream);
  };
  return work;
}

}  // namespace inline_prof::measure
