// The truth file lists kernels in graphs; graph functions fail on request.
#include "run_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simgpu {
namespace {

using testing::ElementsAre;

// The durations of one node in us.
std::vector<double> durations_us(const nlohmann::json& truth, const std::string& node,
                                 bool in_clone) {
  std::vector<double> durations;
  for (const auto& row : truth.at("kernels")) {
    if (row.at("node") != node || row.at("in_clone") != in_clone) continue;
    EXPECT_EQ(row.at("graph"), 2);  // the child graph was made first
    for (const auto& ns : row.at("durations_ns"))
      durations.push_back(ns.get<double>() * 1e-3);
  }
  return durations;
}

TEST(GraphTruth, TellsNodesOfOneKernelApart) {
  const auto truth = run_with_truth({GRAPH_PROGRAM}).truth;
  EXPECT_EQ(truth.at("kernels").size(), 6U);
  for (const bool in_clone : {false, true}) {
    EXPECT_THAT(durations_us(truth, "0", in_clone), ElementsAre(100.0));
    EXPECT_THAT(durations_us(truth, "1", in_clone), ElementsAre(100.0));
    EXPECT_THAT(durations_us(truth, "2/0", in_clone), ElementsAre(10.0));
  }
}

TEST(GraphTruth, IsWhatAPairAroundANodeReadsPlusTheBias) {
  const ProgramRun run =
      run_with_truth({GRAPH_PROGRAM}, {"SIMGPU_GRAPH_PAIR_BIAS_US=2.5", "SIMGPU_NOISE=0.05"});
  ASSERT_EQ(run.lines().size(), 1U) << run.output;
  const double read_us = std::stod(run.lines()[0].substr(std::string("node: ").size()));
  const auto timed = durations_us(run.truth, "1", true);
  ASSERT_EQ(timed.size(), 1U);
  EXPECT_NE(timed[0], 100.0);
  EXPECT_NEAR(read_us, timed[0] + 2.5, 0.002);
}

TEST(GraphFailures, StrikeTheNamedCall) {
  const auto first_failure = [](const std::string& rule) {
    return run_program({GRAPH_PROGRAM}, {"SIMGPU_FAIL=" + rule}).output;
  };
  EXPECT_THAT(first_failure("cuGraphClone:2"),
              testing::StartsWith("cuGraphClone(&clone, graph): 2"));
  EXPECT_THAT(first_failure("cuGraphAddKernelNode:1:after=2"),
              testing::StartsWith("cuGraphAddKernelNode"));
  EXPECT_THAT(first_failure("cuGraphAddDependencies_v2:801"),
              testing::HasSubstr("nullptr, 1): 801"));
  EXPECT_THAT(first_failure("cuGraphLaunch:719:after=1"), testing::HasSubstr("719"));
}

}  // namespace
}  // namespace simgpu
