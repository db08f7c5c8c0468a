// The simulated cuBLAS and cuBLASLt, called by programs built against the vendor's headers.
#include "run_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace simgpu {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(CublasForms, AllLaunchOneKernelEach) {
  const ProgramRun run = run_with_truth({CUBLAS_FORMS_PROGRAM});
  EXPECT_EQ(run.exit_status, 0) << run.errors;
  EXPECT_THAT(run.lines(), ElementsAre("40 calls"));
  EXPECT_EQ(run.truth.at("launches"), 40);
}

TEST(CublasForms, ComplexProductsTakeFourTimesTheArithmetic) {
  // Nothing but the flops.
  const std::string model = model_of(R"({"rules":[{"name":"*gemm*","tflops":1e-3}]})");
  const ProgramRun run = run_with_truth({CUBLAS_FORMS_PROGRAM}, {model});
  // 2 * 64^3 flops at 1 Gflop/s.
  EXPECT_NEAR(row_of(run.truth, "gemm_f64f64").at("nominal_us").get<double>(), 524.288, 1e-6);
  EXPECT_NEAR(row_of(run.truth, "gemm_cf64cf64").at("nominal_us").get<double>(), 4 * 524.288, 1e-6);
}

TEST(CublasForms, ALongSumIsSplitAndAddedUpByASecondKernel) {
  const ProgramRun run = run_with_truth({CUBLAS_FORMS_PROGRAM, "split"});
  EXPECT_EQ(run.truth.at("launches"), 2);
  const auto product = row_of(run.truth, "sm90_xmma_gemm");
  EXPECT_EQ(product.at("grid"), nlohmann::json({2, 1, 8}));  // 16384 / 2048 parts
  const auto sum = row_of(run.truth, "splitKreduce_kernel");
  EXPECT_EQ(sum.at("name"),
            "void cublasLt::splitKreduce_kernel<32, 16, int, float, float, float, float>()");
  // The parts and the result are less than the kernel's floor.
  EXPECT_DOUBLE_EQ(sum.at("nominal_us").get<double>(), 2.0);
}

TEST(CublasForms, VectorsTakeTheTimeOfTheirMatrix) {
  const std::string model = model_of(R"({"rules":[{"name":"*gemv2*","gb_per_s":1e-3}]})");
  const ProgramRun run = run_with_truth({CUBLAS_FORMS_PROGRAM, "vectors"}, {model});
  EXPECT_THAT(run.lines(), ElementsAre("17 calls")) << run.errors;
  EXPECT_EQ(run.truth.at("launches"), 8 + 2 * 9);  // the sums of a dot product are added up
  // 64 * 64 elements and two vectors at 1 MB/s.
  EXPECT_NEAR(row_of(run.truth, "gemv2N_kernel<int, int, double>").at("nominal_us").get<double>(),
              8 * (64 * 64 + 64 + 64), 1e-6);
}

TEST(CublasForms, FailOnRequest) {
  const ProgramRun run =
      run_with_truth({CUBLAS_FORMS_PROGRAM}, {"SIMGPU_FAIL=cublasHgemm:14:count=1"});
  EXPECT_THAT(run.lines(), ElementsAre("cublasHgemm CUBLAS_STATUS_INTERNAL_ERROR", "40 calls"));
  EXPECT_EQ(run.truth.at("launches"), 39);
}

// The program ends before its first call; the loader's log (ld.so(8), LD_DEBUG) tells what came.
TEST(CublasLt, AsksForTheDriverWhenLoaded) {
  const ProgramRun run = run_program({CUBLASLT_PROGRAM}, {"LD_DEBUG=libs"});
  EXPECT_EQ(run.exit_status, 2);
  EXPECT_THAT(run.errors, testing::ContainsRegex("calling init: [^\n]*libcuda\\.so\\.1"));
}

TEST(CublasLt, ChecksTheSizesOfAttributes) {
  const ProgramRun run = run_program({CUBLASLT_PROGRAM, "attributes"});
  EXPECT_THAT(
      run.lines(),
      ElementsAre("get CUBLAS_STATUS_SUCCESS", "0 in 4 bytes", "ask CUBLAS_STATUS_SUCCESS",
                  "needs 4 bytes", "nowhere CUBLAS_STATUS_INVALID_VALUE",
                  "too large CUBLAS_STATUS_INVALID_VALUE", "set wide CUBLAS_STATUS_INVALID_VALUE",
                  "set null CUBLAS_STATUS_INVALID_VALUE", "transposed: 1",
                  "init CUBLAS_STATUS_SUCCESS", "ld 256", "too small CUBLAS_STATUS_ALLOC_FAILED"))
      << run.errors;
}

TEST(CublasLt, MultipliesWithLayoutsAndEpilogues) {
  const ProgramRun run = run_with_truth({CUBLASLT_PROGRAM, "products"});
  EXPECT_THAT(run.lines(),
              ElementsAre("plain CUBLAS_STATUS_SUCCESS", "no bias CUBLAS_STATUS_INVALID_VALUE",
                          "odd ld CUBLAS_STATUS_INVALID_VALUE", "epilogue CUBLAS_STATUS_SUCCESS",
                          "row-major CUBLAS_STATUS_SUCCESS", "wrong k CUBLAS_STATUS_INVALID_VALUE",
                          "short ld CUBLAS_STATUS_INVALID_VALUE",
                          "batches differ CUBLAS_STATUS_INVALID_VALUE",
                          "scale of bf16 CUBLAS_STATUS_INVALID_VALUE"))
      << run.errors;
  EXPECT_EQ(run.truth.at("launches"), 3);
  EXPECT_EQ(row_of(run.truth, "_bias_gelu_aux_").at("grid"), nlohmann::json({16, 1, 1}));
  // Row-major D[1024,256] is column-major [256,1024]: other tiles.
  EXPECT_EQ(row_of(run.truth, "tilesize64x64").at("grid"), nlohmann::json({64, 1, 1}));
}

TEST(CublasLt, TakesFp8InTheTnFormatOnly) {
  const ProgramRun run = run_with_truth({CUBLASLT_PROGRAM, "fp8"});
  EXPECT_THAT(run.lines(), ElementsAre("tn CUBLAS_STATUS_SUCCESS", "nn CUBLAS_STATUS_NOT_SUPPORTED",
                                       "both e5m2 CUBLAS_STATUS_NOT_SUPPORTED"))
      << run.errors;
  // 2 * 4096^3 flops at 1385 Tflop/s.
  EXPECT_NEAR(row_of(run.truth, "gemm_e4m3e5m2_bf16f32_bf16_tn").at("nominal_us").get<double>(),
              99.24, 0.01);
}

TEST(CublasLt, HeuristicSplitsWhereThereIsWorkspace) {
  const ProgramRun run = run_with_truth({CUBLASLT_PROGRAM, "heuristic"});
  EXPECT_THAT(run.lines(), ElementsAre("no workspace: 3 algorithms, first split 1",
                                       "1 MiB: 4 algorithms, first split 8, needs 262144",
                                       "without room CUBLAS_STATUS_INVALID_VALUE",
                                       "with room CUBLAS_STATUS_SUCCESS",
                                       "not an algorithm CUBLAS_STATUS_INVALID_VALUE"))
      << run.errors;
  EXPECT_EQ(run.truth.at("launches"), 2);
}

TEST(CublasLt, TakesAHandleOfCublas) {
  const ProgramRun run = run_with_truth({CUBLASLT_PROGRAM, "cast_handle"});
  EXPECT_THAT(run.lines(), ElementsAre("cast CUBLAS_STATUS_SUCCESS"));
  EXPECT_EQ(run.truth.at("launches"), 1);
}

TEST(CublasLt, LaunchesByCuLaunchKernelEx) {
  ProgramRun run = run_keeping("SIMGPU_LOG", {CUBLASLT_PROGRAM, "products"});
  EXPECT_EQ(run.exit_status, 0);
  run.output = run.file;
  const auto log = run.lines();
  EXPECT_EQ(std::count(log.begin(), log.end(), "cuLaunchKernelEx"), 3);
  EXPECT_EQ(std::count(log.begin(), log.end(), "cuLaunchKernel"), 0);
}

TEST(CublasLt, FailsOnRequest) {
  const ProgramRun run =
      run_program({CUBLASLT_PROGRAM, "products"}, {"SIMGPU_FAIL=cublasLtMatmul:count=1"});
  EXPECT_THAT(run.lines(), Contains("plain CUBLAS_STATUS_EXECUTION_FAILED"));
}

TEST(CublasLt, RefusesAnUnknownNameInSimgpuFail) {
  const ProgramRun run =
      run_program({CUBLASLT_PROGRAM, "products"}, {"SIMGPU_FAIL=cublasLtMatMul"});
  EXPECT_THAT(run.lines(), ElementsAre("create CUBLAS_STATUS_NOT_INITIALIZED"));
  EXPECT_THAT(run.errors,
              HasSubstr("SIMGPU_FAIL=cublasLtMatMul: expected a function of the simulated "
                        "libcublasLt.so.13"));
}

}  // namespace
}  // namespace simgpu
