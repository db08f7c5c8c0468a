// The simulated cuBLAS and cuBLASLt, called by programs built against the vendor's headers.
#include "runtime_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

namespace simgpu {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

// A program's output, and the truth file that it leaves.
struct MathRun {
  ProgramRun program;
  nlohmann::json truth;
};

MathRun math_run(const std::vector<std::string>& command,
                 std::vector<std::string> environment = {}) {
  const std::string file = scratch_file("truth.json");
  environment.push_back("SIMGPU_TRUTH=" + file);
  MathRun run{.program = run_program(command, environment), .truth = {}};
  run.truth = nlohmann::json::parse(read_file(file));
  std::remove(file.c_str());
  return run;
}

std::vector<std::string> log_of(const std::vector<std::string>& command) {
  const std::string file = scratch_file("log");
  EXPECT_EQ(run_program(command, {"SIMGPU_LOG=" + file}).exit_status, 0);
  ProgramRun log;
  log.output = read_file(file);
  std::remove(file.c_str());
  return log.lines();
}

TEST(CublasForms, AllLaunchOneKernelEach) {
  const MathRun run = math_run({CUBLAS_FORMS_PROGRAM});
  EXPECT_EQ(run.program.exit_status, 0) << run.program.errors;
  EXPECT_THAT(run.program.lines(), ElementsAre("40 calls"));
  EXPECT_EQ(run.truth.at("launches"), 40);
}

TEST(CublasForms, ComplexProductsTakeFourTimesTheArithmetic) {
  const std::string model = write_file(
      "model.json", R"({"rules":[{"name":"*gemm*","tflops":1e-3}]})");  // nothing but the flops
  const MathRun run = math_run({CUBLAS_FORMS_PROGRAM}, {"SIMGPU_MODEL=" + model});
  std::remove(model.c_str());
  // 2 * 64^3 flops at 1 Gflop/s.
  EXPECT_NEAR(row_of(run.truth, "gemm_f64f64").at("nominal_us").get<double>(), 524.288, 1e-6);
  EXPECT_NEAR(row_of(run.truth, "gemm_cf64cf64").at("nominal_us").get<double>(), 4 * 524.288, 1e-6);
}

TEST(CublasForms, ALongSumIsSplitAndAddedUpByASecondKernel) {
  const MathRun run = math_run({CUBLAS_FORMS_PROGRAM, "split"});
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
  const std::string model =
      write_file("model.json", R"({"rules":[{"name":"*gemv2*","gb_per_s":1e-3}]})");
  const MathRun run = math_run({CUBLAS_FORMS_PROGRAM, "vectors"}, {"SIMGPU_MODEL=" + model});
  std::remove(model.c_str());
  EXPECT_THAT(run.program.lines(), ElementsAre("17 calls")) << run.program.errors;
  EXPECT_EQ(run.truth.at("launches"), 8 + 2 * 9);  // the sums of a dot product are added up
  // 64 * 64 elements and two vectors at 1 MB/s.
  EXPECT_NEAR(row_of(run.truth, "gemv2N_kernel<int, int, double>").at("nominal_us").get<double>(),
              8 * (64 * 64 + 64 + 64), 1e-6);
}

TEST(CublasForms, FailOnRequest) {
  const MathRun run = math_run({CUBLAS_FORMS_PROGRAM}, {"SIMGPU_FAIL=cublasHgemm:14:count=1"});
  EXPECT_THAT(run.program.lines(),
              ElementsAre("cublasHgemm CUBLAS_STATUS_INTERNAL_ERROR", "40 calls"));
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
  const MathRun run = math_run({CUBLASLT_PROGRAM, "products"});
  EXPECT_THAT(run.program.lines(),
              ElementsAre("plain CUBLAS_STATUS_SUCCESS", "no bias CUBLAS_STATUS_INVALID_VALUE",
                          "odd ld CUBLAS_STATUS_INVALID_VALUE", "epilogue CUBLAS_STATUS_SUCCESS",
                          "row-major CUBLAS_STATUS_SUCCESS", "wrong k CUBLAS_STATUS_INVALID_VALUE",
                          "short ld CUBLAS_STATUS_INVALID_VALUE",
                          "batches differ CUBLAS_STATUS_INVALID_VALUE",
                          "scale of bf16 CUBLAS_STATUS_INVALID_VALUE"))
      << run.program.errors;
  EXPECT_EQ(run.truth.at("launches"), 3);
  EXPECT_EQ(row_of(run.truth, "_bias_gelu_aux_").at("grid"), nlohmann::json({16, 1, 1}));
  // Row-major D[1024,256] is column-major [256,1024]: other tiles.
  EXPECT_EQ(row_of(run.truth, "tilesize64x64").at("grid"), nlohmann::json({64, 1, 1}));
}

TEST(CublasLt, TakesFp8InTheTnFormatOnly) {
  const MathRun run = math_run({CUBLASLT_PROGRAM, "fp8"});
  EXPECT_THAT(run.program.lines(),
              ElementsAre("tn CUBLAS_STATUS_SUCCESS", "nn CUBLAS_STATUS_NOT_SUPPORTED",
                          "both e5m2 CUBLAS_STATUS_NOT_SUPPORTED"))
      << run.program.errors;
  // 2 * 4096^3 flops at 1385 Tflop/s.
  EXPECT_NEAR(row_of(run.truth, "gemm_e4m3e5m2_bf16f32_bf16_tn").at("nominal_us").get<double>(),
              99.24, 0.01);
}

TEST(CublasLt, HeuristicSplitsWhereThereIsWorkspace) {
  const MathRun run = math_run({CUBLASLT_PROGRAM, "heuristic"});
  EXPECT_THAT(run.program.lines(), ElementsAre("no workspace: 3 algorithms, first split 1",
                                               "1 MiB: 4 algorithms, first split 8, needs 262144",
                                               "without room CUBLAS_STATUS_INVALID_VALUE",
                                               "with room CUBLAS_STATUS_SUCCESS",
                                               "not an algorithm CUBLAS_STATUS_INVALID_VALUE"))
      << run.program.errors;
  EXPECT_EQ(run.truth.at("launches"), 2);
}

TEST(CublasLt, TakesAHandleOfCublas) {
  const MathRun run = math_run({CUBLASLT_PROGRAM, "cast_handle"});
  EXPECT_THAT(run.program.lines(), ElementsAre("cast CUBLAS_STATUS_SUCCESS"));
  EXPECT_EQ(run.truth.at("launches"), 1);
}

TEST(CublasLt, LaunchesByCuLaunchKernelEx) {
  const auto log = log_of({CUBLASLT_PROGRAM, "products"});
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
