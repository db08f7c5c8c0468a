// SIMGPU_* variables and model files: what they do, and what is said about bad ones.
#include "runtime_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

namespace simgpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Log, HasALinePerCall) {
  const ProgramRun result = run_keeping("SIMGPU_LOG", runtime_command({"calls"}));
  EXPECT_EQ(result.exit_status, 0);
  EXPECT_THAT(result.file, HasSubstr("cuGetProcAddress_v2\n"));
  EXPECT_THAT(result.file, HasSubstr("cudaEventRecord\ncuCtxGetCurrent\ncuEventRecord\n"));
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
  const ProgramRun result = run_keeping("SIMGPU_LOG", runtime_command({"not_simulated"}));
  EXPECT_THAT(result.lines(),
              ElementsAre("cudaErrorNotSupported", "cudaErrorNotSupported", "cudaSuccess"));
  EXPECT_EQ(result.errors, "simgpu: cudaMallocArray is not simulated and returns 801\n");
  EXPECT_THAT(result.file, HasSubstr("\nunsimulated cudaMallocArray 2\n"));
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

struct Bad {
  const char* name;
  const char* text;
  const char* complaint;
  // NOLINTNEXTLINE(readability-identifier-naming): GoogleTest's name
  friend void PrintTo(const Bad& row, std::ostream* out) { *out << row.text; }
};

class RefusesVariable : public testing::TestWithParam<Bad> {};

TEST_P(RefusesVariable, AndSaysWhy) {
  const ProgramRun result = run({"calls"}, {GetParam().text});
  EXPECT_THAT(result.errors, StartsWith(std::string("simgpu: ") + GetParam().complaint));
  EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1);
  EXPECT_EQ(result.lines().at(0), "cudaStreamCreate 1");  // cudaErrorInvalidValue
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusesVariable,
    testing::Values(
        Bad{"Unknown", "SIMGPU_BIAS=1", "SIMGPU_BIAS: unknown; the simulated GPU knows "},
        Bad{"Devices", "SIMGPU_DEVICES=0", "SIMGPU_DEVICES=0: expected 1 to 64"},
        Bad{"NotANumber", "SIMGPU_PAIR_BIAS_US=fast",
            "SIMGPU_PAIR_BIAS_US=fast: expected microseconds from 0 to 1000000"},
        Bad{"Negative", "SIMGPU_PAIR_JITTER_US=-1",
            "SIMGPU_PAIR_JITTER_US=-1: expected microseconds"},
        Bad{"HostClock", "SIMGPU_HOST_CLOCK=fast", "SIMGPU_HOST_CLOCK=fast: expected cost or real"},
        Bad{"Launch", "SIMGPU_LAUNCH=fast", "SIMGPU_LAUNCH=fast: expected normal or null"},
        Bad{"FailSyntax", "SIMGPU_FAIL=cuInit:x", "SIMGPU_FAIL=x: expected FUNCTION[:CODE|:hang]"},
        Bad{"FailName", "SIMGPU_FAIL=cuEventRecrod",
            "SIMGPU_FAIL=cuEventRecrod: expected a function of the simulated driver"},
        Bad{"Missing", "SIMGPU_MISSING=cuNothing",
            "SIMGPU_MISSING=cuNothing: expected the base name"},
        Bad{"NoModel", "SIMGPU_MODEL=/nowhere.json", "/nowhere.json: No such file or directory"}),
    [](const auto& row) { return row.param.name; });

class RefusesModel : public testing::TestWithParam<Bad> {};

TEST_P(RefusesModel, AndSaysWhere) {
  const std::string model = model_of(GetParam().text);
  const ProgramRun result = run({"calls"}, {model});
  EXPECT_EQ(result.errors,
            "simgpu: " + model.substr(model.find('=') + 1) + ": " + GetParam().complaint + "\n");
  EXPECT_EQ(result.lines().at(0), "cudaStreamCreate 1");
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusesModel,
    testing::Values(
        Bad{"Truncated", "{", "byte 2: not valid JSON"},
        Bad{"NotAnObject", "[]", "/: expected an object"},
        Bad{"UnknownKey", R"({"rulez": []})",
            "/rulez: unknown key, expected one of device, driver_version, host_costs_us, "
            "copies, events, noise, queue_depth, programmatic_overlap_us, rules"},
        Bad{"RuleWithoutName", R"({"rules": [{"duration_us": 1}]})",
            "/rules/0/name: missing, expected a glob on the kernel's name"},
        Bad{"RuleWithoutTime", R"({"rules": [{"name": "a"}]})",
            "/rules/0: expected at least one of latency_us, duration_us, per_block_us, "
            "tflops, gb_per_s "
            "above 0"},
        Bad{"NegativeTime", R"({"rules": [{"name": "a", "duration_us": -1}]})",
            "/rules/0/duration_us: expected a number from 0.0 to 1000000000.0, found -1"},
        Bad{"Grid", R"({"rules": [{"name": "a", "duration_us": 1, "grid": [1, 2]}]})",
            "/rules/0/grid: expected three integers >= 1, found [1,2]"},
        Bad{"TextForNumber", R"({"device": {"sm_count": "many"}})",
            R"(/device/sm_count: expected an integer from 1 to 1024, found "many")"},
        Bad{"Noise", R"({"noise": 2})", "/noise: expected a number from 0.0 to 1.0, found 2"}),
    [](const auto& row) { return row.param.name; });

TEST(Model, RulesGiveKernelsTheirTime) {
  const std::string model = model_of(R"json({
    // comments are allowed
    "device": {"name": "Toy", "sm_count": 4},
    "rules": [{"name": "fill(*)", "grid": [2, 1, 1], "duration_us": 7.5},
              {"name": "_Z5scaleIf*", "duration_us": 1, "per_block_us": 0.5}]})json");
  const ProgramRun result = run({"launches"}, {model});
  EXPECT_EQ(result.lines().at(0), "fill 7.500 us") << result.errors;
  const auto truth = truth_of({"launches"}, {model});
  EXPECT_DOUBLE_EQ(row_of(truth, "scale<float>").at("nominal_us").get<double>(), 2.5);  // 3 blocks
  EXPECT_EQ(run({"devices"}, {model}).lines().at(0), "1 x Toy, 4 SMs, 9.0");
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
