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

// Engines that are compiled when they are planned need a driver's library to be there, if only the
// toolkit's stub.
bool has_driver_library() {
  try {
    const DynamicLibrary driver{"libcuda.so.1"};
    return true;
  } catch (const Skipped&) {
    return false;
  }
}

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

AttentionShape attention(bool is_causal, std::int64_t kv_heads = 16, std::int64_t kv_len = 1024) {
  return {.type = CUDNN_DATA_BFLOAT16,
          .batch = 8,
          .heads = 16,
          .kv_heads = kv_heads,
          .q_len = 1024,
          .kv_len = kv_len,
          .head_dim = 128,
          .is_causal = is_causal};
}

std::vector<std::pair<std::string, Add>> fused_graphs() {
  std::vector<std::pair<std::string, Add>> graphs;
  for (const std::int64_t kv_heads : {16, 4}) {
    graphs.emplace_back("sdpa", [kv_heads](BackendGraph& graph) {
      add_attention_operation(graph, attention(false, kv_heads));
    });
    for (const bool is_causal : {false, true}) {
      for (const std::int64_t kv_len : {1024, 1536}) {
        const AttentionShape shape = attention(is_causal, kv_heads, kv_len);
        const std::string name = is_causal ? "causal" : "parts";
        graphs.emplace_back(name, [=](BackendGraph& graph) { add_attention_parts(graph, shape); });
        graphs.emplace_back(name + " backward", [=](BackendGraph& graph) {
          add_attention_backward_parts(graph, shape);
        });
      }
    }
  }
  for (const cudnnBackendNormMode_t mode : {CUDNN_LAYER_NORM, CUDNN_RMS_NORM}) {
    const NormShape shape{.mode = mode, .type = CUDNN_DATA_BFLOAT16, .rows = 2048, .columns = 4096};
    const std::string name = mode == CUDNN_LAYER_NORM ? "layer norm" : "RMS norm";
    graphs.emplace_back(name, [=](BackendGraph& graph) { add_norm_forward(graph, shape); });
    graphs.emplace_back(name + " backward",
                        [=](BackendGraph& graph) { add_norm_backward(graph, shape); });
  }
  return graphs;
}

TEST_F(CudnnGraphs, AreTakenWithoutAGpu) {
  for (const auto& [name, add] : fused_graphs())
    EXPECT_GT(graph(add, {})->engine_count(), 0) << name;
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

TEST_F(CudnnGraphs, EnginesForAttentionAndNormsKnowTheGraphs) {
  if (!has_driver_library()) GTEST_SKIP() << "no libcuda.so.1, not even a stub";
  for (const auto& [name, add] : fused_graphs()) {
    const auto made = graph(add, h200());
    EXPECT_FALSE(proposals(*made, kHeuristicModes.front()).empty()) << name;
  }
}

// The installed library compiles the kernel for the GPU that is described; a stub of the driver
// cannot load it.
TEST_F(CudnnGraphs, AttentionIsCompiledForTheGpu) {
  if (!has_driver_library()) GTEST_SKIP() << "no libcuda.so.1, not even a stub";
  for (const auto add : {add_attention_parts, add_attention_backward_parts}) {
    const auto made = graph([&](BackendGraph& graph) { add(graph, attention(true)); }, h200());
    try {
      EXPECT_EQ(first_plan(*made).engine, proposals(*made, kHeuristicModes.front()).front().engine);
    } catch (const Skipped& reason) {
      EXPECT_THAT(reason.what(), HasSubstr("EXECUTION_FAILED_CUDA_DRIVER"));
    }
  }
}

// Two products, one after the other.
TEST_F(CudnnGraphs, AnotherGraphThanAttentionHasNoEngine) {
  if (!has_driver_library()) GTEST_SKIP() << "no libcuda.so.1, not even a stub";
  const auto made = graph(
      [](BackendGraph& graph) {
        const Sizes all{2, 4, 128, 128};
        const auto tensor = [&](std::int64_t id, BackendTensor::Place place) -> const auto& {
          return graph.tensor({.id = id,
                               .type = CUDNN_DATA_BFLOAT16,
                               .sizes = all,
                               .strides = dense_strides(all),
                               .place = place});
        };
        const auto& between = tensor(4, BackendTensor::Place::kVirtual);
        BackendDescriptor& how = graph.make(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
        how.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT).finalize("");
        const auto product = [&](const BackendDescriptor& a, const BackendDescriptor& b,
                                 const BackendDescriptor& c) {
          graph.operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR)
              .set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a)
              .set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b)
              .set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c)
              .set(CUDNN_ATTR_OPERATION_MATMUL_DESC, how)
              .finalize("a product");
        };
        product(tensor(1, BackendTensor::Place::kMemory), tensor(2, BackendTensor::Place::kMemory),
                between);
        product(between, tensor(3, BackendTensor::Place::kMemory),
                tensor(5, BackendTensor::Place::kMemory));
        graph.finalize();
      },
      h200());
  EXPECT_THROW(static_cast<void>(first_plan(*made)), Skipped);
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
  const AttentionShape shared = attention(false, 3);
  EXPECT_THAT(complaint([&](BackendGraph& graph) { add_attention_operation(graph, shared); }),
              StartsWith("the attention operation answers CUDNN_STATUS_BAD_PARAM"));
  EXPECT_THAT(complaint([&](BackendGraph& graph) { add_attention_parts(graph, shared); }),
              StartsWith("a product answers CUDNN_STATUS_BAD_PARAM"));
  EXPECT_THAT(complaint([&](BackendGraph& graph) { add_attention_backward_parts(graph, shared); }),
              StartsWith("a product answers CUDNN_STATUS_BAD_PARAM"));
  EXPECT_EQ(complaint([](BackendGraph& graph) { add_attention_operation(graph, attention(true)); }),
            "cuDNN's attention operation has no mask");
}

// A matrix product, a norm, a reduction and a reshape with one size that does not fit.
TEST_F(CudnnGraphs, EachOperationIsCheckedByItself) {
  const auto operation =
      [&](cudnnBackendDescriptorType_t type,
          const std::vector<std::pair<cudnnBackendAttributeName_t, Sizes>>& tensors,
          const std::function<void(BackendGraph&, BackendDescriptor&)>& more) {
        return complaint([&](BackendGraph& graph) {
          BackendDescriptor& made = graph.operation(type);
          std::int64_t id = 1;
          for (const auto& [name, sizes] : tensors) {
            made.set(name, graph.tensor({.id = id++,
                                         .type = CUDNN_DATA_FLOAT,
                                         .sizes = sizes,
                                         .strides = dense_strides(sizes)}));
          }
          more(graph, made);
          made.finalize("it");
          graph.finalize();
        });
      };
  const auto product = [&](const Sizes& a, const Sizes& b, const Sizes& c) {
    return operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR,
                     {{CUDNN_ATTR_OPERATION_MATMUL_ADESC, a},
                      {CUDNN_ATTR_OPERATION_MATMUL_BDESC, b},
                      {CUDNN_ATTR_OPERATION_MATMUL_CDESC, c}},
                     [](BackendGraph& graph, BackendDescriptor& made) {
                       BackendDescriptor& how = graph.make(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
                       how.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
                           .finalize("how");
                       made.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, how);
                     });
  };
  EXPECT_EQ(product({2, 4, 8, 16}, {2, 4, 16, 32}, {2, 4, 8, 32}), "");
  EXPECT_EQ(product({2, 4, 8, 16}, {2, 1, 16, 32}, {2, 4, 8, 32}), "");
  for (const auto& [b, c] : std::vector<std::pair<Sizes, Sizes>>{{{2, 4, 15, 32}, {2, 4, 8, 32}},
                                                                 {{2, 4, 16, 32}, {2, 4, 9, 32}},
                                                                 {{2, 4, 16, 32}, {2, 4, 8, 33}},
                                                                 {{2, 3, 16, 32}, {2, 4, 8, 32}},
                                                                 {{2, 4, 16, 32}, {2, 5, 8, 32}}}) {
    EXPECT_THAT(product({2, 4, 8, 16}, b, c), StartsWith("it answers CUDNN_STATUS_BAD_PARAM"));
  }
  BackendTensor::Place epsilon_place = BackendTensor::Place::kHostValue;
  const auto norm = [&](const Sizes& scale, const Sizes& bias, const Sizes& deviation,
                        const Sizes& y) {
    const auto more = [&](BackendGraph& graph, BackendDescriptor& made) {
      const BackendDescriptor& epsilon = graph.tensor({.id = 99,
                                                       .type = CUDNN_DATA_FLOAT,
                                                       .sizes = {1, 1, 1, 1},
                                                       .strides = {1, 1, 1, 1},
                                                       .place = epsilon_place});
      made.set(CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, epsilon)
          .set(CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE, CUDNN_LAYER_NORM)
          .set(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE,
               CUDNN_NORM_FWD_TRAINING);
    };
    return operation(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR,
                     {{CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, {128, 256, 1, 1}},
                      {CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, scale},
                      {CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, bias},
                      {CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, deviation},
                      {CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, deviation},
                      {CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, y}},
                     more);
  };
  const Sizes row{1, 256, 1, 1}, column{128, 1, 1, 1}, rows{128, 256, 1, 1};
  EXPECT_EQ(norm(row, row, column, rows), "");
  EXPECT_THAT(norm({1, 255, 1, 1}, row, column, rows), HasSubstr("SHAPE_MISMATCH"));
  EXPECT_THAT(norm(row, row, column, {128, 255, 1, 1}), HasSubstr("SHAPE_MISMATCH"));
  EXPECT_THAT(norm(row, row, {127, 1, 1, 1}, rows),
              StartsWith("the operation graph answers CUDNN_STATUS_BAD_PARAM"));
  epsilon_place = BackendTensor::Place::kMemory;
  EXPECT_THAT(norm(row, row, column, rows), StartsWith("it answers CUDNN_STATUS_BAD_PARAM"));
  const auto reduction = [&](const Sizes& y) {
    return operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR,
                     {{CUDNN_ATTR_OPERATION_REDUCTION_XDESC, {2, 4, 8, 16}},
                      {CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y}},
                     [](BackendGraph& graph, BackendDescriptor& made) {
                       BackendDescriptor& how = graph.make(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
                       how.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE,
                               CUDNN_REDUCE_TENSOR_MAX)
                           .set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
                                CUDNN_DATA_FLOAT)
                           .finalize("how");
                       made.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, how);
                     });
  };
  EXPECT_EQ(reduction({2, 4, 8, 1}), "");
  EXPECT_THAT(reduction({2, 4, 8}), StartsWith("it answers CUDNN_STATUS_BAD_PARAM"));
  const auto reshape = [&](const Sizes& y) {
    return operation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR,
                     {{CUDNN_ATTR_OPERATION_RESHAPE_XDESC, {2, 4, 8, 16}},
                      {CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y}},
                     [](BackendGraph&, BackendDescriptor&) {});
  };
  EXPECT_EQ(reshape({2, 4, 16, 8}), "");
  EXPECT_EQ(reshape({8, 16, 8}), "");
  EXPECT_THAT(reshape({2, 4, 16, 9}), StartsWith("it answers CUDNN_STATUS_BAD_PARAM"));
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
