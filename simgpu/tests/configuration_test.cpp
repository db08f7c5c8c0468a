// SIMGPU_* variables and model files: what they do, and what is said about bad ones.
#include "runtime_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <ostream>

namespace simgpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Log, HasALinePerCall) {
  const std::string file = scratch_file("log");
  EXPECT_EQ(run({"calls"}, {"SIMGPU_LOG=" + file}).exit_status, 0);
  const std::string log = read_file(file);
  EXPECT_THAT(log, HasSubstr("cuGetProcAddress_v2\n"));
  EXPECT_THAT(log, HasSubstr("cudaEventRecord\ncuCtxGetCurrent\ncuEventRecord\n"));
  std::remove(file.c_str());
}

TEST(Failures, StrikeTheNamedCallsOnly) {
  EXPECT_THAT(run({"calls"}, {"SIMGPU_FAIL=cuEventRecord:700:after=1:count=2,cuMemAlloc"}).lines(),
              ElementsAre("cudaStreamCreate 0", "cudaEventCreate 0", "cudaEventRecord 0",
                          "cudaEventRecord 700", "cudaEventRecord 700", "cudaEventRecord 0",
                          "cudaMalloc 719"));
}

TEST(Failures, CanBeInTheRuntime) {
  EXPECT_THAT(run({"calls"}, {"SIMGPU_FAIL=cudaStreamCreate:2"}).lines().at(0),
              "cudaStreamCreate 2");
}

TEST(Failures, CanBeInCublas) {
  const ProgramRun result = run_program({CUBLAS_PROGRAM}, {"SIMGPU_FAIL=cublasGemmEx:14:count=1"});
  EXPECT_THAT(result.output, HasSubstr("large CUBLAS_STATUS_INTERNAL_ERROR\n"));
  EXPECT_THAT(result.output, HasSubstr("thin CUBLAS_STATUS_SUCCESS\n"));
}

TEST(Missing, FunctionsAreNotFound) {
  const ProgramRun result = run_program({ENTRY_POINTS_PROGRAM, "cuFuncGetName", "cuLaunchKernel"},
                                        {"SIMGPU_MISSING=cuFuncGetName"});
  EXPECT_THAT(result.lines(), ElementsAre("cuFuncGetName 1", "cuLaunchKernel 0"));
}

TEST(Missing, OlderDriversLackNewerFunctions) {
  const ProgramRun result = run_program({ENTRY_POINTS_PROGRAM, "cuFuncGetName", "cuLaunchKernel"},
                                        {"SIMGPU_DRIVER_VERSION=12020"});
  EXPECT_THAT(result.lines(), ElementsAre("cuFuncGetName 1", "cuLaunchKernel 0"));
}

TEST(Missing, DriversOlderThanTheRuntimeAreRefusedByIt) {
  EXPECT_THAT(run({"versions"}, {"SIMGPU_DRIVER_VERSION=12080"}).lines(),
              ElementsAre("cudaSuccess cudaSuccess 12080 13000 cudaErrorInsufficientDriver"));
  EXPECT_THAT(run({"versions"}, {"SIMGPU_DRIVER_VERSION=13010"}).lines(),
              ElementsAre("cudaSuccess cudaSuccess 13010 13000 cudaSuccess"));
  EXPECT_THAT(
      run({"versions"}, {"SIMGPU_DRIVER_VERSION=12080", "SIMGPU_RUNTIME_VERSION=12040"}).lines(),
      ElementsAre("cudaSuccess cudaSuccess 12080 12040 cudaSuccess"));
}

TEST(Unsimulated, FunctionsSayTheirNameAndReturnNotSupported) {
  const std::string log = scratch_file("log");
  const ProgramRun result = run({"not_simulated"}, {"SIMGPU_LOG=" + log});
  EXPECT_THAT(result.lines(),
              ElementsAre("cudaErrorNotSupported", "cudaErrorNotSupported", "cudaSuccess"));
  EXPECT_EQ(result.errors, "simgpu: cudaMallocArray is not simulated and returns 801\n");
  EXPECT_THAT(read_file(log), HasSubstr("\nunsimulated cudaMallocArray 2\n"));
  std::remove(log.c_str());
}

TEST(NullLaunches, DoNothing) {
  const auto truth = truth_of({"pairs", "4"}, {"SIMGPU_LAUNCH=null"});
  EXPECT_EQ(truth.at("launches"), 0);
}

TEST(Injection, HappensAtInitialisation) {
  const ProgramRun result = run({"calls"}, {"CUDA_INJECTION64_PATH=" INJECTION_LIBRARY});
  EXPECT_EQ(result.lines().at(0), "injected, 1 device, code 0") << result.errors;
  EXPECT_EQ(result.lines().at(1), "cudaStreamCreate 0");
}

struct BadVariable {
  const char* name;
  const char* variable;
  const char* complaint;
};

void PrintTo(const BadVariable& row, std::ostream* out) {
  *out << row.variable;
}

class RefusesVariable : public testing::TestWithParam<BadVariable> {};

TEST_P(RefusesVariable, AndSaysWhy) {
  const ProgramRun result = run({"calls"}, {GetParam().variable});
  EXPECT_THAT(result.errors, StartsWith(std::string("simgpu: ") + GetParam().complaint));
  EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1);
  EXPECT_EQ(result.lines().at(0), "cudaStreamCreate 1");  // cudaErrorInvalidValue
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusesVariable,
    testing::Values(
        BadVariable{"Unknown", "SIMGPU_BIAS=1", "SIMGPU_BIAS: unknown; the simulated GPU knows "},
        BadVariable{"Devices", "SIMGPU_DEVICES=0", "SIMGPU_DEVICES=0: expected 1 to 64"},
        BadVariable{"NotANumber", "SIMGPU_PAIR_BIAS_US=fast",
                    "SIMGPU_PAIR_BIAS_US=fast: expected microseconds from 0 to 1000000"},
        BadVariable{"Negative", "SIMGPU_PAIR_JITTER_US=-1",
                    "SIMGPU_PAIR_JITTER_US=-1: expected microseconds"},
        BadVariable{"HostClock", "SIMGPU_HOST_CLOCK=fast",
                    "SIMGPU_HOST_CLOCK=fast: expected cost or real"},
        BadVariable{"Launch", "SIMGPU_LAUNCH=fast", "SIMGPU_LAUNCH=fast: expected normal or null"},
        BadVariable{"FailSyntax", "SIMGPU_FAIL=cuInit:x",
                    "SIMGPU_FAIL=x: expected FUNCTION[:CODE|:hang]"},
        BadVariable{"FailName", "SIMGPU_FAIL=cuEventRecrod",
                    "SIMGPU_FAIL=cuEventRecrod: expected a function of the simulated driver"},
        BadVariable{"Missing", "SIMGPU_MISSING=cuNothing",
                    "SIMGPU_MISSING=cuNothing: expected the base name"},
        BadVariable{"NoModel", "SIMGPU_MODEL=/nowhere.json",
                    "/nowhere.json: No such file or directory"}),
    [](const auto& row) { return row.param.name; });

struct BadModel {
  const char* name;
  const char* text;
  const char* complaint;
};

void PrintTo(const BadModel& row, std::ostream* out) {
  *out << row.text;
}

class RefusesModel : public testing::TestWithParam<BadModel> {};

TEST_P(RefusesModel, AndSaysWhere) {
  const std::string file = write_file("model.json", GetParam().text);
  const ProgramRun result = run({"calls"}, {"SIMGPU_MODEL=" + file});
  EXPECT_EQ(result.errors, "simgpu: " + file + ": " + GetParam().complaint + "\n");
  EXPECT_EQ(result.lines().at(0), "cudaStreamCreate 1");
  std::remove(file.c_str());
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusesModel,
    testing::Values(
        BadModel{"Truncated", "{", "byte 2: not valid JSON"},
        BadModel{"NotAnObject", "[]", "/: expected an object"},
        BadModel{"UnknownKey", R"({"rulez": []})",
                 "/rulez: unknown key, expected one of device, driver_version, host_costs_us, "
                 "copies, events, noise, queue_depth, programmatic_overlap_us, rules"},
        BadModel{"RuleWithoutName", R"({"rules": [{"duration_us": 1}]})",
                 "/rules/0/name: missing, expected a glob on the kernel's name"},
        BadModel{"RuleWithoutTime", R"({"rules": [{"name": "a"}]})",
                 "/rules/0: expected at least one of latency_us, duration_us, per_block_us, "
                 "tflops, gb_per_s "
                 "above 0"},
        BadModel{"NegativeTime", R"({"rules": [{"name": "a", "duration_us": -1}]})",
                 "/rules/0/duration_us: expected a number from 0.0 to 1000000000.0, found -1"},
        BadModel{"Grid", R"({"rules": [{"name": "a", "duration_us": 1, "grid": [1, 2]}]})",
                 "/rules/0/grid: expected three integers >= 1, found [1,2]"},
        BadModel{"TextForNumber", R"({"device": {"sm_count": "many"}})",
                 R"(/device/sm_count: expected an integer from 1 to 1024, found "many")"},
        BadModel{"Noise", R"({"noise": 2})", "/noise: expected a number from 0.0 to 1.0, found 2"}),
    [](const auto& row) { return row.param.name; });

TEST(Model, RulesGiveKernelsTheirTime) {
  const std::string file = write_file("model.json", R"json({
    // comments are allowed
    "device": {"name": "Toy", "sm_count": 4},
    "rules": [{"name": "fill(*)", "grid": [2, 1, 1], "duration_us": 7.5},
              {"name": "_Z5scaleIf*", "duration_us": 1, "per_block_us": 0.5}]})json");
  const ProgramRun result = run({"launches"}, {"SIMGPU_MODEL=" + file});
  EXPECT_EQ(result.lines().at(0), "fill 7.500 us") << result.errors;
  const auto truth = truth_of({"launches"}, {"SIMGPU_MODEL=" + file});
  EXPECT_DOUBLE_EQ(row_of(truth, "scale<float>").at("nominal_us").get<double>(), 2.5);  // 3 blocks
  EXPECT_EQ(run({"devices"}, {"SIMGPU_MODEL=" + file}).lines().at(0), "1 x Toy, 4 SMs, 9.0");
  std::remove(file.c_str());
}

TEST(Host, CannotFollowRealTimeAtNoSpeed) {
  EXPECT_EQ(run({"calls"}, {"SIMGPU_HOST_CLOCK=real", "SIMGPU_HOST_SPEED=0"}).errors,
            "simgpu: SIMGPU_HOST_SPEED=0: expected more than 0 with SIMGPU_HOST_CLOCK=real\n");
}

TEST(Host, ThatIsSlowIsSeenByTheDevice) {
  const std::string fast = truth_of({"pairs"}, {"SIMGPU_HOST_SPEED=0"}).at("host_now_ns").dump();
  const std::string slow = truth_of({"pairs"}, {"SIMGPU_HOST_SPEED=50"}).at("host_now_ns").dump();
  EXPECT_LT(std::stod(fast), std::stod(slow));
}

TEST(Hang, EndsWithALine) {
  const ProgramRun result = run_program({HANGING_PROGRAM}, {"SIMGPU_HANG_LIMIT_S=0.05"});
  EXPECT_THAT(result.lines(), ElementsAre("702"));
  EXPECT_THAT(result.errors, HasSubstr("simgpu: a stream has waited 0.05 s for a value"));
}

}  // namespace
}  // namespace simgpu
