// Calls cuBLAS in every form that is wrapped, and by every way that leads to it:
//
//   --linked            the library it was linked with (the default)
//   --looked-up         dlopen(RTLD_LOCAL) and dlsym, as Python does
//   --expect=STATUS     what each call must return
#include "host.hpp"

#include <cublas_v2.h>

namespace {

void* library = nullptr;  // where its functions are looked up; none: linked

template <typename Function>
Function function(const char* name, Function linked) {
  if (library == nullptr) return linked;
  auto found = reinterpret_cast<Function>(dlsym(library, name));
  if (found == nullptr) host::fail(name, 0);
  return found;
}
#define BLAS(name) function(#name, name)

using GemmEx = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                              const void*, const void*, cudaDataType, int, const void*,
                              cudaDataType, int, const void*, void*, cudaDataType, int,
                              cublasComputeType_t, cublasGemmAlgo_t);

struct Blas {
  decltype(&cublasCreate_v2) create = BLAS(cublasCreate_v2);
  decltype(&cublasSetStream_v2) set_stream = BLAS(cublasSetStream_v2);
  decltype(&cublasSetMathMode) set_math_mode = BLAS(cublasSetMathMode);
  decltype(&cublasSgemm_v2) sgemm = BLAS(cublasSgemm_v2);
  decltype(&cublasDgemm_v2_64) dgemm_64 = BLAS(cublasDgemm_v2_64);
  decltype(&cublasCgemm_v2) cgemm = BLAS(cublasCgemm_v2);
  decltype(&cublasSgemmStridedBatched) sgemm_strided = BLAS(cublasSgemmStridedBatched);
  GemmEx* gemm_ex = function<GemmEx*>("cublasGemmEx", cublasGemmEx);
};

class Step {
 public:
  Step(int expected, const Blas& blas) : expected_(expected), blas_(blas) {
    CHECK(blas_.create(&handle_));
    blas_.set_stream(handle_, host::open_stream());
  }

  void run() const {
    const float one = 1;
    const double double_one = 1;
    // Row-major: C[7,5] = A[7,3] B[3,5], as a program with row-major tensors asks for it.
    expect(blas_.sgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 5, 7, 3, &one, nullptr, 5, nullptr, 3,
                       &one, nullptr, 5));
    // The same with A transposed in memory.
    expect(blas_.sgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_T, 5, 7, 3, &one, nullptr, 5, nullptr, 7,
                       &one, nullptr, 5));
    blas_.set_math_mode(handle_, CUBLAS_TF32_TENSOR_OP_MATH);
    expect(blas_.sgemm(handle_, CUBLAS_OP_T, CUBLAS_OP_N, 5, 7, 3, &one, nullptr, 3, nullptr, 3,
                       &one, nullptr, 5));
    blas_.set_math_mode(handle_, CUBLAS_DEFAULT_MATH);
    expect(blas_.dgemm_64(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 50, 70, 30, &double_one, nullptr, 50,
                          nullptr, 30, &double_one, nullptr, 50));
    expect(blas_.sgemm_strided(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 5, 7, 3, &one, nullptr, 5, 15,
                               nullptr, 3, 21, &one, nullptr, 5, 35, 12));
    expect(blas_.gemm_ex(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 1024, 6912, 512, &one, nullptr,
                         CUDA_R_16F, 1024, nullptr, CUDA_R_16F, 512, &one, nullptr, CUDA_R_16F,
                         1024, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    expect(blas_.gemm_ex(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 64, 64, 64, &one, nullptr, CUDA_R_32F,
                         64, nullptr, CUDA_R_32F, 64, &one, nullptr, CUDA_R_32F, 64,
                         CUBLAS_COMPUTE_32F_FAST_16BF, CUBLAS_GEMM_DEFAULT));
    // prof.json has no complex types.
    const cuComplex complex_one{1, 0};
    expect(blas_.cgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 5, 7, 3, &complex_one, nullptr, 5,
                       nullptr, 3, &complex_one, nullptr, 5));
    // Two kernels: the product in parts, and their sum (simgpu/reference.md, "Split k").
    expect(blas_.sgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 64, 64, 8192, &one, nullptr, 64, nullptr,
                       8192, &one, nullptr, 64));
  }

 private:
  void expect(cublasStatus_t status) const {
    if (status != expected_) host::fail("a product", status);
    if (errno != 4711) host::fail("errno was changed", errno);
  }

  int expected_;
  const Blas& blas_;
  cublasHandle_t handle_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  host::Arguments arguments(argc, argv);
  if (arguments.has("--looked-up")) {
    library = dlopen("libcublas.so.13", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) host::fail(dlerror(), 0);
  }
  host::open_context();
  const Blas blas;
  const Step step(arguments.number("--expect", 0), blas);
  return host::train(40, [&] {
    errno = 4711;
    step.run();
  });
}
