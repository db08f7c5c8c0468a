// The graphs that prof-measure makes of cuDNN's backend interface, without a GPU: on the installed
// library, which makes and checks descriptors without one, and proposes engines for a GPU that is
// only described; and on the simulated library, which has to check the same.
#include "measure/cudnn_graphs.hpp"

#include "measure/case.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <string>

namespace inline_prof::measure {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Sizes = std::vector<std::int64_t>;
using Add = std::function<void(BackendGraph&)>;

// The members that cuDNN 9.19 asks for, one after the other, with the numbers of an H200.
constexpr const char* kH200 = R"({"maxGridSize": [2147483647, 65535, 65535],
  "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536, "multiProcessorCount": 132,
  "warpSize": 32, "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
  "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536, "maxCtasPerSM": 32,
  "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "pciDeviceId": 0, "isTccDriver": 0,
  "supportCoopLaunch": 1, "totalGlobalMem": 150754820096, "smClockRateKHz": 1980000,
  "memClockRateKHz": 3201000, "l2CacheSize": 62914560, "cudaDeviceId": 0, "deviceVer": 900,
  "driverVer": 13000, "deviceName": "NVIDIA H200"})";

class CudnnGraphs : public testing::Test {
 protected:
  void SetUp() override {
    try {
      functions_ = std::make_unique<BackendFunctions>();
    } catch (const Skipped& reason) {
      GTEST_SKIP() << reason.what();
    }
    if (functions_->get_version() < 91300) GTEST_SKIP() << "cuDNN before 9.13";
  }

  [[nodiscard]] BackendTarget h200() const { return {*functions_, kH200}; }
  [[nodiscard]] std::unique_ptr<BackendGraph> graph(const Add& add, BackendTarget target) const {
    auto graph = std::make_unique<BackendGraph>(*functions_, std::move(target));
    add(*graph);
    return graph;
  }
  // What the library says to a graph; empty if it takes it.
  [[nodiscard]] std::string complaint(const Add& add) const {
    try {
      static_cast<void>(graph(add, {}));
    } catch (const Skipped& reason) {
      return reason.what();
    }
    return {};
  }

  std::unique_ptr<BackendFunctions> functions_;
};

ConvShape layer(ConvPass pass, bool channels_last, cudnnDataType_t type) {
  return {.pass = pass,
          .type = type,
          .channels_last = channels_last,
          .input = {32, 64, 56, 56},
          .filter = {128, 64, 3, 3},
          .output = {32, 128, 28, 28},
          .stride = {2, 2},
          .pad = {1, 1},
          .dilation = {1, 1}};
}

constexpr std::array kPasses{ConvPass::kForward, ConvPass::kBackwardData,
                             ConvPass::kBackwardFilter};

TEST_F(CudnnGraphs, AreTakenWithoutAGpu) {
  for (const ConvPass pass : kPasses) {
    for (const bool channels_last : {false, true}) {
      for (const cudnnDataType_t type : {CUDNN_DATA_FLOAT, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16}) {
        const Add add = [&](BackendGraph& graph) {
          add_convolution(graph, layer(pass, channels_last, type));
        };
        EXPECT_GT(graph(add, {})->engine_count(), 0);
      }
    }
  }
}

TEST_F(CudnnGraphs, HeuristicsProposeEnginesForConvolutionsAndAnEngineIsPlanned) {
  for (const ConvPass pass : kPasses) {
    const auto made = graph(
        [&](BackendGraph& graph) { add_convolution(graph, layer(pass, true, CUDNN_DATA_HALF)); },
        h200());
    const Rankings rankings = rankings_of(*made);
    for (const HeuristicMode& mode : kHeuristicModes) {
      const auto proposed = proposals(*made, mode);
      ASSERT_FALSE(proposed.empty()) << mode.name;
      for (const EngineConfig& config : proposed) {
        EXPECT_GE(config.engine, 0);
        EXPECT_LT(config.engine, made->engine_count());
      }
      EXPECT_THAT(places_of(proposed.front().engine, rankings),
                  HasSubstr(std::string(mode.name) + ":1"));
    }
    const EnginePlan plan = first_plan(*made);
    EXPECT_EQ(plan.engine, proposals(*made, kHeuristicModes.front()).front().engine);
    EXPECT_GE(plan.workspace_bytes, 0);
    EXPECT_EQ(plan_of(*made, engine_by_number(*made, plan.engine)).engine, plan.engine);
  }
}

// The counts in docs/measurements.md are printed here.
TEST_F(CudnnGraphs, AnEngineOfEveryNumberIsPlannedOrRefusedWithWords) {
  for (const ConvPass pass : kPasses) {
    for (const cudnnDataType_t type : {CUDNN_DATA_FLOAT, CUDNN_DATA_HALF}) {
      ConvShape shape = layer(pass, false, type);
      shape.stride = {1, 1};
      shape.output = {32, 128, 56, 56};
      const auto made = graph([&](BackendGraph& graph) { add_convolution(graph, shape); }, h200());
      std::int64_t planned = 0;
      for (std::int64_t engine = 0; engine < made->engine_count(); ++engine) {
        try {
          planned += plan_of(*made, engine_by_number(*made, engine)).engine == engine ? 1 : 0;
        } catch (const Skipped& reason) {
          EXPECT_THAT(reason.what(), HasSubstr("answers CUDNN_STATUS_"));
        }
      }
      std::printf("pass %d, type %d: %lld of %lld engines\n", static_cast<int>(pass),
                  static_cast<int>(type), static_cast<long long>(planned),
                  static_cast<long long>(made->engine_count()));
      EXPECT_GE(planned, 2);
      EXPECT_THROW(static_cast<void>(engine_by_number(*made, made->engine_count())), Skipped);
    }
  }
}

// The statuses of cuDNN 9.19, which the simulated library gives, too.
TEST_F(CudnnGraphs, WrongShapesAreRefused) {
  ConvShape conv = layer(ConvPass::kBackwardData, true, CUDNN_DATA_HALF);
  conv.output[3] = 29;
  EXPECT_THAT(complaint([&](BackendGraph& graph) { add_convolution(graph, conv); }),
              StartsWith("the convolution's operation answers CUDNN_STATUS_BAD_PARAM"));
}

TEST_F(CudnnGraphs, AttributesThatADescriptorDoesNotHaveAreRefused) {
  const auto complaint_of = [](const std::function<void()>& call) {
    try {
      call();
    } catch (const Skipped& reason) {
      return std::string(reason.what());
    }
    return std::string();
  };
  BackendDescriptor product(*functions_, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  EXPECT_THAT(complaint_of([&] {
                product.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_INT64, std::int64_t{0});
              }),
              StartsWith("attribute 1500 answers CUDNN_STATUS_BAD_PARAM"));
  EXPECT_THAT(complaint_of([&] {
                product.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
              }),
              StartsWith("attribute 1601 answers CUDNN_STATUS_BAD_PARAM"));
  BackendDescriptor tensor(*functions_, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, Sizes{1, 2, 3, 4});
  EXPECT_THAT(complaint_of([&] { tensor.finalize("half a tensor"); }),
              StartsWith("half a tensor answers CUDNN_STATUS_BAD_PARAM"));
}

}  // namespace
}  // namespace inline_prof::measure
