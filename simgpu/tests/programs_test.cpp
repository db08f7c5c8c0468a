// Programs built by nvcc against the vendor's toolkit, run on the simulated GPU.
#include "runtime_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <sstream>

namespace simgpu {
namespace {

using testing::ElementsAre;

std::vector<double> values_after(const ProgramRun& run, const std::string& word) {
  std::vector<double> values;
  for (const auto& line : run.lines()) {
    if (line.starts_with(word + " ")) values.push_back(std::stod(line.substr(word.size())));
  }
  return values;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double standard_deviation(const std::vector<double>& values) {
  const double centre = mean(values);
  double sum = 0;
  for (const double value : values)
    sum += (value - centre) * (value - centre);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

TEST(Program, LaunchesInEveryWay) {
  const ProgramRun result = run({"launches"});
  EXPECT_EQ(result.exit_status, 0) << result.output << result.errors;
  EXPECT_THAT(result.lines(), ElementsAre("fill 2.002 us", "launched"));
  EXPECT_EQ(result.errors, "");
}

TEST(Program, LaunchesByKernelHandlesToo) {
  const ProgramRun result = run({"launches"}, {"SIMGPU_KERNEL_HANDLES=kernel"});
  EXPECT_THAT(result.lines(), ElementsAre("fill 2.002 us", "launched")) << result.errors;
}

TEST(Program, ReplaysGraphs) {
  EXPECT_THAT(run({"graphs"}).lines(), ElementsAre("graph 12.001 us", "graph 12.001 us"));
}

TEST(Program, UsesConstantDeviceAndManagedVariables) {
  EXPECT_THAT(run({"symbols"}).lines(), ElementsAre("4 42 16 9"));
}

TEST(Program, SharesTheLegacyDefaultStreamBetweenThreads) {
  EXPECT_THAT(run({"default_stream"}).lines(), ElementsAre("default stream is busy"));
}

TEST(Program, HasADefaultStreamPerThreadIfBuiltSo) {
  const ProgramRun result = run_program({PER_THREAD_PROGRAM, "default_stream"});
  EXPECT_THAT(result.lines(), ElementsAre("default stream is idle")) << result.errors;
}

TEST(Program, SeesSeveralDevicesWithTheirOwnTime) {
  EXPECT_THAT(run({"devices"}, {"SIMGPU_DEVICES=3"}).lines(),
              ElementsAre("3 x NVIDIA H200, 132 SMs, 9.0", "device 0 is busy", "device 1 is idle",
                          "device 2 is idle"));
}

TEST(Program, ReadsKernelAttributes) {
  EXPECT_THAT(run({"attributes"}).lines(),
              ElementsAre("32 registers, 8 blocks per SM, 1024 threads"));
}

TEST(Program, GetsErrorsOnceAndPerThread) {
  EXPECT_THAT(run({"errors"}).lines(),
              ElementsAre("cudaErrorInvalidValue", "cudaErrorInvalidValue", "cudaSuccess",
                          "cudaErrorInvalidResourceHandle"));
}

TEST(Program, GoesOnAfterADeviceReset) {
  EXPECT_THAT(run({"reset"}).lines(), ElementsAre("launched after a reset"));
}

TEST(EventPairs, ReadTheBiasWithItsJitter) {
  const ProgramRun result =
      run({"pairs", "400"}, {"SIMGPU_PAIR_BIAS_US=5.9", "SIMGPU_PAIR_JITTER_US=0.2"});
  const auto empty = values_after(result, "empty");
  ASSERT_EQ(empty.size(), 400U) << result.errors;
  EXPECT_NEAR(mean(empty), 5.9, 0.05);                // standard error 0.01
  EXPECT_NEAR(standard_deviation(empty), 0.2, 0.04);  // standard error 0.007
  EXPECT_NEAR(mean(values_after(result, "kernel")), 15.9, 0.05);
}

TEST(EventPairs, AroundAKernelMayReadMore) {
  const ProgramRun result =
      run({"pairs", "4"}, {"SIMGPU_PAIR_BIAS_US=2", "SIMGPU_KERNEL_PAIR_BIAS_US=1.5"});
  EXPECT_THAT(values_after(result, "empty"), testing::Each(testing::DoubleNear(2.0, 1e-3)));
  EXPECT_THAT(values_after(result, "kernel"), testing::Each(testing::DoubleNear(13.5, 1e-3)));
}

TEST(EventPairs, AreRoundedToTheClocksResolution) {
  const ProgramRun result =
      run({"pairs", "8"}, {"SIMGPU_PAIR_BIAS_US=1.3", "SIMGPU_EVENT_RESOLUTION_US=0.5"});
  for (const double us : values_after(result, "empty")) {
    EXPECT_TRUE(us == 1.0 || us == 1.5) << us;
  }
}

TEST(Noise, IsTheSameForTheSameSeed) {
  const auto first = truth_of({"pairs"}, {"SIMGPU_NOISE=0.05", "SIMGPU_SEED=7"});
  EXPECT_EQ(first, truth_of({"pairs"}, {"SIMGPU_NOISE=0.05", "SIMGPU_SEED=7"}));
  EXPECT_NE(first, truth_of({"pairs"}, {"SIMGPU_NOISE=0.05", "SIMGPU_SEED=8"}));
}

TEST(Noise, DoesNotDependOnHowThreadsInterleave) {
  const auto first = truth_of({"threads"}, {"SIMGPU_NOISE=0.05"});
  EXPECT_EQ(first.at("launches"), 800);
  EXPECT_EQ(first.at("kernels").size(), 4U);
  EXPECT_EQ(first.at("kernels"), truth_of({"threads"}, {"SIMGPU_NOISE=0.05"}).at("kernels"));
}

TEST(Noise, HasTheSizeThatWasAskedFor) {
  const auto truth = truth_of({"pairs", "1000"}, {"SIMGPU_NOISE=0.05"});
  std::vector<double> durations;
  const auto row = row_of(truth, "scale<float>");
  for (const auto& ns : row.at("durations_ns")) {
    durations.push_back(ns.get<double>() * 1e-3);
  }
  ASSERT_EQ(durations.size(), 1000U);
  EXPECT_NEAR(mean(durations), 10.0, 0.08);               // standard error 0.016
  EXPECT_NEAR(standard_deviation(durations), 0.5, 0.06);  // standard error 0.011
}

TEST(Truth, HasEveryLaunchUnbiased) {
  const auto truth = truth_of({"pairs", "16"}, {"SIMGPU_PAIR_BIAS_US=5.9"});
  EXPECT_EQ(truth.at("schema"), "simgpu_truth/1");
  EXPECT_EQ(truth.at("launches"), 17);
  const auto row = row_of(truth, "scale<float>");
  EXPECT_EQ(row.at("count"), 16);
  EXPECT_EQ(row.at("mangled"), "_Z5scaleIfEvPT_");
  EXPECT_EQ(row.at("grid"), nlohmann::json({8000, 1, 1}));
  EXPECT_EQ(row.at("durations_ns"), nlohmann::json(std::vector<int>(16, 10000)));
  EXPECT_DOUBLE_EQ(row.at("nominal_us").get<double>(), 10.0);
}

TEST(Truth, CountsKernelsInsideGraphs) {
  const auto truth = truth_of({"graphs"});
  EXPECT_EQ(truth.at("launches"), 2);  // what keeps the device busy
  EXPECT_EQ(truth.at("graph_launches"), 2);
  EXPECT_EQ(truth.at("graph_kernels"), 4);
  EXPECT_EQ(row_of(truth, "scale<float>").at("in_graph"), true);
}

// One line of SIMGPU_TIMELINE.
struct Done {
  std::string kind;
  int stream = 0;
  std::string place;
  unsigned long launch = 0;
};

std::vector<Done> timeline_of(const std::vector<std::string>& arguments) {
  const ProgramRun program = run_keeping("SIMGPU_TIMELINE", runtime_command(arguments));
  EXPECT_EQ(program.exit_status, 0);
  std::vector<Done> done;
  std::istringstream lines(program.file);
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> columns;
    std::istringstream words(line);
    for (std::string column; std::getline(words, column, '\t');)
      columns.push_back(column);
    EXPECT_EQ(columns.size(), 12U) << line;
    done.push_back({.kind = columns.at(0),
                    .stream = std::stoi(columns.at(4)),
                    .place = columns.at(7),
                    .launch = std::stoul(columns.at(9))});
  }
  return done;
}

TEST(Timeline, NumbersLaunchesOfAllThreadsAndStreamsInOneOrder) {
  std::set<unsigned long> numbers;
  std::map<int, unsigned long> last;
  for (const Done& kernel : timeline_of({"threads"})) {
    EXPECT_TRUE(numbers.insert(kernel.launch).second) << kernel.launch;
    const auto [before, is_first] = last.try_emplace(kernel.stream, kernel.launch);
    EXPECT_TRUE(is_first || before->second < kernel.launch);
    before->second = kernel.launch;
  }
  EXPECT_EQ(last.size(), 4U);
  EXPECT_EQ(numbers.size(), 800U);
  EXPECT_EQ(*numbers.rbegin(), 799U);
}

TEST(Timeline, SaysHowManyLaunchesWereBeforeAGraph) {
  std::vector<unsigned long> direct, in_graphs;
  for (const Done& kernel : timeline_of({"graphs"}))
    (kernel.place.empty() ? direct : in_graphs).push_back(kernel.launch);
  EXPECT_THAT(direct, ElementsAre(0, 1));
  EXPECT_THAT(in_graphs, ElementsAre(1, 1, 2, 2));
}

TEST(Cublas, ChecksItsArguments) {
  const ProgramRun result = run_program({CUBLAS_PROGRAM});
  EXPECT_THAT(
      result.lines(),
      ElementsAre("create CUBLAS_STATUS_SUCCESS", "stream CUBLAS_STATUS_SUCCESS",
                  "large CUBLAS_STATUS_SUCCESS", "thin CUBLAS_STATUS_SUCCESS",
                  "short lda CUBLAS_STATUS_INVALID_VALUE", "negative CUBLAS_STATUS_INVALID_VALUE",
                  "nothing to do CUBLAS_STATUS_SUCCESS", "sgemm CUBLAS_STATUS_SUCCESS",
                  "mixed CUBLAS_STATUS_NOT_SUPPORTED", "captured CUBLAS_STATUS_SUCCESS", "1 node",
                  "destroy CUBLAS_STATUS_SUCCESS"))
      << result.errors;
}

TEST(Cublas, KernelsTakeTheTimeOfTheirWork) {
  const ProgramRun run = run_with_truth({CUBLAS_PROGRAM});
  ASSERT_EQ(run.exit_status, 0);
  const auto& truth = run.truth;
  EXPECT_EQ(truth.at("launches"), 3);
  // 2 * 4096^3 flops at 692 Tflop/s = 198.61 us.
  const auto large = row_of(truth, "bf16bf16_bf16f32_bf16_tn_n_tilesize128x256x64");
  EXPECT_NEAR(large.at("nominal_us").get<double>(), 198.61, 0.01);
  // 2 * (8192 * 8192 + 2 * 8192 * 8) bytes at 4080 GB/s = 32.96 us: memory bound.
  const auto thin = row_of(truth, "bf16bf16_bf16f32_bf16_tn_n_tilesize64x64x64");
  EXPECT_NEAR(thin.at("nominal_us").get<double>(), 32.96, 0.01);
  // 2 * 256^3 flops at 46 Tflop/s = 0.73 us: the floor.
  EXPECT_DOUBLE_EQ(row_of(truth, "f32f32").at("nominal_us").get<double>(), 3.0);
}

}  // namespace
}  // namespace simgpu
