#include "read/torch_trace/torch_trace.hpp"

#include "read/file_text.hpp"
#include "read/read_profile.hpp"
#include "read/torch_trace/event_list.hpp"
#include "testing.hpp"

#include <fmt/format.h>

namespace inline_prof::read {
namespace {

// A trace in Kineto's form from its events, one a line.
std::string trace_of(const std::vector<std::string>& events, const std::string& head = "") {
  return fmt::format(
      R"({{"schemaVersion": 1, "deviceProperties": [{{"id": 0, "name": "NVIDIA H100 80GB HBM3",
    "numSms": 132, "totalGlobalMem": 84000000000, "computeMajor": 9, "computeMinor": 0}}], {}"traceEvents": [{}]}})",
      head, fmt::join(events, ",\n"));
}
std::string host(const std::string& category, const std::string& name, double start, double length,
                 const std::string& args = "", int thread = 1) {
  return fmt::format(
      R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": 9, "tid": {}, "ts": {}, "dur": {}, "args": {{{}}}}})",
      category, name, thread, start, length, args);
}
std::string launch(double start, int correlation, int thread = 1) {
  return host("cuda_runtime", "cudaLaunchKernel", start, 1,
              fmt::format(R"("correlation": {})", correlation), thread);
}
std::string kernel(const std::string& name, double start, double length, int correlation,
                   const std::string& grid = "4, 2, 1") {
  return fmt::format(
      R"({{"ph": "X", "cat": "kernel", "name": "{}", "pid": 0, "tid": 7, "ts": {}, "dur": {},
    "args": {{"device": 0, "stream": 7, "correlation": {}, "grid": [{}], "block": [128, 1, 1]}}}})",
      name, start, length, correlation, grid);
}

Profile read_trace_text(const std::string& text) {
  return torch_trace::read(text, "t.json");
}
std::string refusal_of_trace(const std::string& text) {
  return test::complaint([&] { return read_trace_text(text); });
}

constexpr const char* kAdd =
    R"("Input Dims": [[8, 4], [1, 4], []], "Input type": ["float", "float", "Scalar"], "Input Strides": [[4, 1], [4, 1], []])";

TEST(TorchTrace, KernelsBelongToTheOperatorAndTheModulesAroundTheirLaunch) {
  const Profile profile = read_trace_text(trace_of({
      host("python_function", "nn.Module: Net_0", 0, 100),
      host("python_function", "nn.Module: Block_1", 10, 50),
      host("cpu_op", "aten::add", 20, 10, kAdd),
      launch(22, 5),
      kernel("vectorized_add", 40, 3, 5),
      host("cpu_op", "aten::unknown", 70, 10),
      launch(72, 6),
      kernel("other", 80, 2, 6),
  }));
  ASSERT_EQ(profile.events.size(), 2U);
  const Event& add = profile.events[0];
  EXPECT_EQ(add.layer, "Block_1") << "the model's own name stands before every layer";
  EXPECT_EQ(add.op->kind, "memory");
  EXPECT_EQ(add.op->source, "aten::add");
  EXPECT_EQ(add.op->get<std::int64_t>("read_bytes"), 8 * 4 * 4 + 4 * 4);
  EXPECT_EQ(add.op->get<std::int64_t>("write_bytes"), 8 * 4 * 4);
  EXPECT_EQ(add.launch.grid, (std::array<std::int64_t, 3>{4, 2, 1}));
  EXPECT_EQ(add.measured_ms, std::vector<double>{0.003});
  EXPECT_EQ(profile.events[1].layer, "Net_0");
  EXPECT_EQ(profile.events[1].op->kind, "operator");
  EXPECT_EQ(profile.devices[0].sm_count, 132);
  EXPECT_EQ(profile.iter_time_ms.size(), 1U) << "a trace without steps is one iteration";
}

TEST(TorchTrace, BackwardKernelsHaveTheLayerOfTheirForwardOperator) {
  const std::vector<std::string> events{
      host("python_function", "nn.Module: Net_0", 0, 100),
      host("python_function", "nn.Module: Linear_0", 10, 50),
      host("cpu_op", "aten::view", 12, 1, R"("Sequence number": 3, "Fwd thread id": 0)"),
      host("cpu_op", "aten::addmm", 20, 10, R"("Sequence number": 3, "Fwd thread id": 0)"),
      host("python_function", "nn.Module: Linear_1", 65, 20),
      host("cpu_op", "aten::addmm", 70, 10, R"("Sequence number": 4, "Fwd thread id": 0)"),
      host("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 200, 30,
           R"("Sequence number": 3, "Fwd thread id": 1)", 2),
      host("cpu_op", "aten::mm", 205, 10, "", 2),
      launch(206, 5, 2),
      kernel("gemm", 210, 5, 5),
  };
  EXPECT_EQ(read_trace_text(trace_of(events)).events[0].layer, "Linear_0.backward");

  // Arrows say it where a trace has them, whatever the numbers are.
  std::vector<std::string> with_flow = events;
  with_flow.emplace_back(
      R"({"ph": "s", "id": 1, "cat": "fwdbwd", "name": "fwdbwd", "pid": 9, "tid": 1, "ts": 70})");
  with_flow.emplace_back(
      R"({"ph": "f", "id": 1, "cat": "fwdbwd", "name": "fwdbwd", "pid": 9, "tid": 2, "ts": 200})");
  EXPECT_EQ(read_trace_text(trace_of(with_flow)).events[0].layer, "Linear_1.backward");
}

TEST(TorchTrace, WithoutModulesLayersAreAnnotationsElseOperators) {
  const Profile profile = read_trace_text(trace_of({
      host("user_annotation", "ProfilerStep#3", 0, 100),
      host("user_annotation", "## forward:over_arch ##", 10, 30),
      host("cpu_op", "aten::relu", 20, 10),
      launch(22, 5),
      kernel("a", 30, 2, 5),
      host("cpu_op", "aten::linear", 50, 20),
      host("cpu_op", "aten::addmm", 52, 10),
      launch(54, 6),
      kernel("b", 60, 2, 6),
  }));
  EXPECT_EQ(profile.events[0].layer, "forward:over_arch");
  EXPECT_EQ(profile.events[1].layer, "aten::linear");
}

std::vector<std::string> steps(const std::vector<int>& numbers) {
  std::vector<std::string> events;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double at = 1000.0 * static_cast<double>(i);
    const int correlation = static_cast<int>(10 * i);
    events.push_back(host("user_annotation", fmt::format("ProfilerStep#{}", numbers[i]), at, 900));
    events.push_back(launch(at + 10, correlation));
    events.push_back(kernel("k", at + 100, 5, correlation));
    events.push_back(launch(at + 20, correlation + 1));
    events.push_back(kernel("k", at + 200, 7, correlation + 1));
  }
  return events;
}

TEST(TorchTrace, StepsOfTheProfilerAreIterations) {
  const Profile profile = read_trace_text(trace_of(steps({6, 7, 8})));
  ASSERT_EQ(profile.events.size(), 2U) << "one event for each occurrence of a kernel in a step";
  EXPECT_EQ(profile.events[0].occurrence, 0);
  EXPECT_EQ(profile.events[1].occurrence, 1);
  EXPECT_EQ(profile.events[1].measured_ms.size(), 3U);
  EXPECT_EQ(profile.events[1].iterations, (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_DOUBLE_EQ(profile.events[1].offsets_ms[0], 0.1);
  ASSERT_EQ(profile.iter_time_ms.size(), 3U);
  EXPECT_DOUBLE_EQ(profile.iter_time_ms[0], 1.0) << "from first kernel to first kernel";
  EXPECT_DOUBLE_EQ(profile.iter_time_ms[2], 0.8) << "until the host is done with the last one";
  EXPECT_TRUE(profile.warnings.size() == 1 &&
              profile.warnings[0].find("record_shapes") != std::string::npos);
}

// Three times a forward pass by name, each with work behind it; the trace begins within one before.
TEST(TorchTrace, WithoutStepsIterationsBeginWhereTheOutermostRangeRepeats) {
  std::vector<std::string> events{launch(1, 1), kernel("late", 5, 3, 1)};
  for (int i = 0; i < 3; ++i) {
    const double us = 100.0 * (i + 1);
    events.push_back(host("user_annotation", "forward", us, 30));
    events.push_back(launch(us + 2, 10 * i + 10));
    events.push_back(kernel("first", us + 5, 3, 10 * i + 10));
    events.push_back(launch(us + 50, 10 * i + 11));
    events.push_back(kernel("behind", us + 60, 3, 10 * i + 11));
  }
  const Profile profile = read_trace_text(trace_of(events));
  ASSERT_EQ(profile.iter_time_ms.size(), 3U);
  EXPECT_DOUBLE_EQ(profile.iter_time_ms[1], 0.1);
  ASSERT_EQ(profile.events.size(), 2U);
  EXPECT_EQ(profile.events[1].measured_ms.size(), 3U);
  EXPECT_EQ(profile.profiler.iteration_source, "forward");
  ASSERT_FALSE(profile.warnings.empty());
  EXPECT_NE(profile.warnings[1].find(R"(each "forward" is taken for the beginning of one, 3)"),
            std::string::npos)
      << profile.warnings[1];
}

TEST(TorchTrace, TwoRangesOfStepsAreTakenTogetherAndSaid) {
  const Profile profile = read_trace_text(trace_of(steps({6, 7, 106, 107})));
  EXPECT_EQ(profile.iter_time_ms.size(), 4U);
  EXPECT_DOUBLE_EQ(profile.iter_time_ms[1], 0.8) << "no step follows step 7";
  EXPECT_EQ(profile.warnings[0],
            "the trace holds 2 ranges of steps, from 6 to 107; all are taken together");
}

TEST(TorchTrace, AStepAloneBeginsWhenTheGpuIsDoneWithWhatWasBefore) {
  std::vector<std::string> events = steps({6});  // from 0 to 900, its first kernel at 100
  const double whole_ms = read_trace_text(trace_of(events)).iter_time_ms.at(0);
  events.push_back(kernel("of another step", 20, 60, 999));
  EXPECT_DOUBLE_EQ(read_trace_text(trace_of(events)).iter_time_ms.at(0), whole_ms - 0.080);
}

TEST(TorchTrace, StepsOfOtherSizesHaveNoOnePrediction) {
  const auto is_flagged = [](const std::string& grid) {
    std::vector<std::string> events = steps({1, 2});
    std::string& second = events.at(7);  // the first kernel of the second step
    second.replace(second.find("[4, 2, 1]"), 9, grid);
    return !read_trace_text(trace_of(events)).events[0].flags.empty();
  };
  EXPECT_TRUE(is_flagged("[4, 3, 1]"));
  EXPECT_TRUE(is_flagged("[4, 1, 1]"));
  EXPECT_FALSE(is_flagged("[9, 1, 1]")) << "an eighth more";
}

TEST(TorchTrace, KernelsOfFewStepsAreLeftOutAndCounted) {
  auto events = steps({1, 2, 3, 4});
  events.push_back(launch(1030, 99));
  events.push_back(kernel("seldom", 1300, 50, 99));
  const Profile profile = read_trace_text(trace_of(events));
  EXPECT_EQ(profile.events.size(), 2U);
  EXPECT_EQ(profile.warnings[0],
            "1 kernels and copies of less than half of the 4 steps are left out: 0.050 ms in all "
            "steps together");
}

TEST(TorchTrace, CopiesAndCollectivesSayWhatTheyMove) {
  const auto copy = [](const char* category, const char* name, double start, int bytes) {
    return fmt::format(
        R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": 0, "tid": 7, "ts": {}, "dur": 2, "args": {{"stream": 7, "bytes": {}}}}})",
        category, name, start, bytes);
  };
  const Profile profile = read_trace_text(trace_of({
      host(
          "cpu_op", "record_param_comms", 10, 20,
          R"("Collective name": "allreduce", "dtype": "BFloat16", "In msg nelems": 1000, "Out msg nelems": 1000, "Group size": 8)"),
      launch(12, 1),
      kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 20, 9,
             1),
      copy("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 40, 512),
      copy("gpu_memset", "Memset (Device)", 50, 64),
  }));
  const Op& all_reduce = *profile.events[0].op;
  EXPECT_EQ(all_reduce.kind, "collective");
  EXPECT_EQ(all_reduce.get<std::string>("op"), "all_reduce");
  EXPECT_EQ(all_reduce.get<std::int64_t>("bytes"), 2000);
  EXPECT_EQ(all_reduce.get<std::int64_t>("ranks"), 8);
  EXPECT_EQ(profile.events[1].op->get<std::string>("direction"), "host_to_device");
  EXPECT_EQ(profile.events[2].op->get<std::string>("direction"), "fill");
}

TEST(TorchTrace, KernelsKnowWhatRunsBesideThem) {
  const std::string beside_both =
      kernel("vectorized_add", 20, 10, 2);  // 18 to 25 a collective, 28 to 30 a copy
  const Profile profile = read_trace_text(trace_of(
      {
          launch(1, 1),
          launch(3, 2),
          kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 18, 7, 1),
          beside_both,
          R"j({"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 9, "ts": 28, "dur": 9, "args": {"stream": 9, "bytes": 512}})j",
      },
      R"("distributedInfo": {"world_size": 8}, )"));
  ASSERT_EQ(profile.events.size(), 3U);
  EXPECT_EQ(profile.events[0].neighbours.collective, 0) << "the collective itself";
  EXPECT_EQ(profile.events[1].neighbours.collective, 50);
  EXPECT_EQ(profile.events[1].neighbours.host_copy, 20);
  EXPECT_EQ(profile.events[2].op->get<std::int64_t>("ranks"), 8) << "they share the host's link";
}

// As gpt-oss under vLLM records them.
TEST(TorchTrace, ExpertsAreGroupedProductsByNamesAndGrids) {
  const auto product = [](const char* name, double start, int correlation, int column_tiles) {
    return fmt::format(
        R"({{"ph": "X", "cat": "kernel", "name": "{}", "pid": 0, "tid": 7, "ts": {}, "dur": 9,
    "args": {{"device": 0, "stream": 7, "correlation": {}, "grid": [{}, 342, 1], "block": [512, 1, 1]}}}})",
        name, start, correlation, column_tiles);
  };
  const Profile profile = read_trace_text(trace_of(
      {host(
           "cpu_op", "vllm::moe_forward", 0, 20,
           R"("Input Dims": [[888, 3072], [888, 128], []], "Input type": ["c10::BFloat16", "c10::BFloat16", ""])"),
       launch(2, 1), launch(4, 2), launch(6, 3),
       product("bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3", 30, 1, 8),
       product("bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3", 40, 2, 24),
       kernel("void moe::dev::finalize::finalizeKernelVecLoad<...>", 50, 7, 3)}));
  ASSERT_EQ(profile.events.size(), 3U);
  EXPECT_EQ(op_text(*profile.events[0].op),
            "grouped_gemm a_type=f8e4m3 b_type=f4e2m1 c_type=f8e4m3 groups=128 k=3072 "
            "m_total=3552 n=1024");
  EXPECT_EQ(op_text(*profile.events[1].op),
            "grouped_gemm a_type=f8e4m3 b_type=f4e2m1 c_type=bf16 groups=128 k=512 m_total=3552 "
            "n=3072");
  EXPECT_EQ(profile.events[2].op->get<std::int64_t>("read_bytes"), 3552 * 3072 * 2);
}

TEST(TorchTrace, ExpertsInTritonAreTwoGroupedProducts) {
  const char* const args =
      R"("Input Dims": [[16, 64], [8, 256, 64], [8, 64, 128], [16, 2], [16, 2]], "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "float", "int"])";
  const Profile profile = read_trace_text(trace_of(
      {host("cpu_op", "vllm::inplace_fused_experts", 10, 20, args), launch(12, 1), launch(14, 2),
       kernel("fused_moe_kernel", 20, 9, 1), kernel("fused_moe_kernel", 30, 9, 2)}));
  EXPECT_EQ(op_text(*profile.events.at(0).op),
            "grouped_gemm a_type=bf16 b_type=bf16 c_type=bf16 groups=8 k=64 m_total=32 n=256");
  EXPECT_EQ(op_text(*profile.events.at(1).op),
            "grouped_gemm a_type=bf16 b_type=bf16 c_type=bf16 groups=8 k=128 m_total=32 n=64");
}

TEST(TorchTrace, ProductsOfCompiledFunctionsHaveTheSizesOfTheWeightsThatFit) {
  const auto product = [](const std::string& tile_and_layout, const std::string& grid, int number) {
    return kernel("volta_sgemm_" + tile_and_layout, 300 + 10 * number, 5, number, grid);
  };
  const auto dims_of = [](const std::string& sizes, int arguments) {
    std::string types;
    for (int i = 0; i < arguments; ++i)
      types += i == 0 ? R"("float")" : R"(, "float")";
    return fmt::format(R"("Sequence number": 3, "Input Dims": [{}], "Input type": [{}])", sizes,
                       types);
  };
  std::vector<std::string> events{
      host("cpu_op", "CompiledFunction", 0, 50,
           dims_of("[128, 440], [128], [128, 1320], [128], [64, 32], [64, 9000], [1000, 440]", 7)),
      host("cpu_op", "CompiledFunctionBackward", 100, 50,
           R"("Sequence number": 3, "Fwd thread id": 1)", 2)};
  for (int i = 1; i <= 7; ++i)
    events.push_back(i < 4 ? launch(i, i) : launch(100 + i, i, 2));
  events.push_back(product("32x32_sliced1x4_tn", "4, 32, 4", 1));
  events.push_back(product("32x32_sliced1x4_tn", "4, 32, 4", 2));
  events.push_back(product("32x32_sliced1x4_tn", "2, 32, 1", 3));
  events.push_back(product("128x32_nn", "11, 32, 1", 4));
  events.push_back(product("32x128_nt", "42, 1, 16", 5));
  events.push_back(product("128x32_nn", "4, 32, 1", 6));
  events.push_back(product("32x32_nt", "2, 3, 64", 7));
  const Profile profile = read_trace_text(trace_of(events));
  ASSERT_EQ(profile.events.size(), 7U);
  std::vector<std::string> sizes;
  for (const Event& event : profile.events) {
    const auto side = [&](const char* name) {
      return event.op->get<std::int64_t>(name).value_or(0);
    };
    sizes.push_back(event.op->kind != "gemm"
                        ? event.op->source
                        : fmt::format("{} x {} x {}", side("m"), side("n"), side("k")));
  }
  EXPECT_EQ(sizes,
            (std::vector<std::string>{"1000 x 128 x 440", "1000 x 128 x 1320",
                                      "CompiledFunction",  // weights of two depths fit
                                      "1000 x 1320 x 128", "128 x 1320 x 1000", "1000 x 440 x 128",
                                      "CompiledFunctionBackward"}));  // a batch
}

TEST(TorchTrace, ConcatenationsOfListsWithoutSizesHaveThoseOfTheirGradient) {
  const std::string unsized = R"("Input Dims": [[], []], "Input type": ["TensorList", "Scalar"])";
  const Profile profile = read_trace_text(trace_of({
      host("cpu_op", "aten::cat", 0, 9, unsized + R"(, "Sequence number": 3)"),
      launch(1, 1),
      host("cpu_op", "aten::cat", 10, 9, unsized + R"(, "Sequence number": 4)"),
      launch(11, 2),
      host(
          "cpu_op", "CatBackward0", 20, 9,
          R"("Sequence number": 3, "Fwd thread id": 1, "Input Dims": [[8, 5]], "Input type": ["float"])",
          2),
      host(
          "cpu_op", "SplitWithSizesBackward0", 30, 9,
          R"("Sequence number": 2, "Fwd thread id": 1, "Input Dims": [[8, 3], [8, 4]], "Input type": ["float", "float"])",
          2),
      host("cpu_op", "aten::cat", 31, 7, unsized, 2),
      launch(32, 3, 2),
      kernel("CatArrayBatchedCopy<float, 1>", 50, 5, 1, "264, 3, 1"),
      kernel("CatArrayBatchedCopy<float, 2>", 60, 5, 2, "264, 3, 1"),
      kernel("CatArrayBatchedCopy<float, 3>", 70, 5, 3, "264, 2, 1"),
  }));
  ASSERT_EQ(profile.events.size(), 3U);
  EXPECT_EQ(op_text(*profile.events[0].op),
            "memory class=copy elements=40 read_bytes=160 write_bytes=160");
  EXPECT_EQ(profile.events[1].op->kind, "operator") << "nothing knows how much it joins";
  EXPECT_EQ(op_text(*profile.events[2].op),
            "memory class=copy elements=56 read_bytes=224 write_bytes=224");
}

TEST(TorchTrace, WinogradsProductsAreABatchOfTheTilesPoints) {
  const Profile profile = read_trace_text(trace_of({
      host(
          "cpu_op", "aten::cudnn_convolution", 0, 50,
          R"("Input Dims": [[2, 64, 56, 56], [128, 64, 3, 3], [], [], [], []], "Input type": ["float", "float", "ScalarList", "ScalarList", "ScalarList", "Scalar"], "Concrete Inputs": ["", "", "[1, 1]", "[1, 1]", "[1, 1]", "1"])"),
      launch(1, 1),
      kernel("volta_sgemm_128x64_nn", 60, 5, 1, "4, 1, 36"),
  }));
  EXPECT_EQ(op_text(*profile.events.at(0).op),
            "gemm a_type=f32 b_type=f32 batch=36 c_type=f32 k=64 m=128 n=392");
}

TEST(TorchTrace, CollectivesOfACapturedGraphSayWhatTheyMoveThemselves) {
  const Profile profile = read_trace_text(trace_of({
      host("cpu_op", "replay", 0, 50),
      launch(1, 1),
      R"({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "pid": 0,
    "tid": 7, "ts": 60, "dur": 5, "args": {"device": 0, "stream": 7, "correlation": 1,
    "Collective name": "allreduce", "In msg nelems": 1024, "Out msg nelems": 1024, "Group size": 8,
    "dtype": "BFloat16"}})",
  }));
  EXPECT_EQ(op_text(*profile.events.at(0).op),
            "collective bytes=2048 count=1024 op=all_reduce ranks=8 type=bf16");
}

TEST(TorchTrace, GradientsOfLookUpsHaveTheSizesOfTheirForwardCall) {
  const auto look_up = [](double start, int tables, int weights, int rows) {
    return host(
        "cpu_op", "fbgemm::split_embedding_codegen_lookup_rowwise_adagrad_function", start, 5,
        fmt::format(
            R"("Input Dims": [[0], [{}], [0], [0, 0], [{}], [{}], [{}], [], [], [{}], [], [6400], [{}], [], [], [], [0], [], [], [], [{}]], "Input type": ["float", "float", "float", "float", "int", "long", "int", "Scalar", "Scalar", "long", "Scalar", "long", "long", "Scalar", "", "", "int", "Scalar", "Scalar", "Scalar", "float"])",
            weights, tables, tables, tables + 1, tables + 1, tables * 64 + 1, rows));
  };
  const Profile profile = read_trace_text(trace_of({
      look_up(0, 10, 64000, 1000),  // rows of 64 numbers
      launch(1, 1),
      look_up(10, 2, 640, 20),
      host("cpu_op", "torch::autograd::CppNode<SplitLookupFunction_rowwise_adagrad_Op>", 20, 9,
           R"("Input Dims": [[64, 640]], "Input type": ["float"])"),
      launch(22, 2),
      kernel("split_embedding_codegen_forward_unweighted_kernel<float>", 40, 9, 1),
      kernel("split_embedding_backward_codegen_rowwise_adagrad_unweighted_kernel_cta_per_row_1", 50,
             9, 2),
  }));
  ASSERT_EQ(profile.events.size(), 2U);
  EXPECT_EQ(op_text(*profile.events[0].op),
            "embedding bag=10 batch=64 dim=64 pass=forward rows=100 tables=10 type=f32");
  EXPECT_EQ(op_text(*profile.events[1].op),
            "embedding bag=10 batch=64 dim=64 part=long_rows pass=backward_rowwise_adagrad "
            "rows=100 tables=10 type=f32");
}

TEST(TorchTrace, AllReducesWithKernelsOfTheirOwnAreCollectives) {
  const auto op_of = [](const char* name, const char* args, const char* kernel_name) {
    const Profile profile = read_trace_text(
        trace_of({host("cpu_op", name, 10, 20, args), launch(12, 1), kernel(kernel_name, 20, 9, 1)},
                 R"("distributedInfo": {"world_size": 8}, )"));
    return *profile.events[0].op;
  };
  const Op symmetric =
      op_of("symm_mem::multimem_all_reduce_",
            R"("Input Dims": [[2557440], [], []], "Input type": ["c10::BFloat16", "", ""])",
            "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(...)");
  EXPECT_EQ(symmetric.kind, "collective");
  EXPECT_EQ(symmetric.get<std::int64_t>("bytes"), 5114880);
  EXPECT_EQ(symmetric.get<std::int64_t>("ranks"), 8);
  const Op custom = op_of(
      "_C_custom_ar::all_reduce",
      R"("Input Dims": [[], [8, 64], [8, 64], [], []], "Input type": ["", "c10::Half", "c10::Half", "", ""])",
      "void vllm::cross_device_reduce_1stage<__half, 8>(...)");
  EXPECT_EQ(custom.get<std::string>("op"), "all_reduce");
  EXPECT_EQ(custom.get<std::int64_t>("bytes"), 1024) << "its output is among the inputs";
}

struct OperatorCase {
  const char* what;
  const char* name;
  const char* types;  // a letter of kTypes for each input
  const char* dims;
  const char* kernel;
  const char* op;
  const char* more_args = "";

  friend void PrintTo(const OperatorCase& each, std::ostream* out) { *out << each.what; }
};

const std::map<char, const char*> kTypes{
    {'b', "c10::BFloat16"}, {'h', "c10::Half"},  {'f', "float"},
    {'i', "int"},           {'l', "long int"},   {'S', "Scalar"},
    {'L', "ScalarList"},    {'T', "TensorList"}, {'_', ""}};

const OperatorCase kOperators[] = {
    {"addmm", "aten::addmm", "bbbSS", "[16], [4, 8], [8, 16], [], []", "sm90_xmma_gemm_bf16",
     "gemm a_type=bf16 b_type=bf16 c_type=bf16 k=8 m=4 n=16 trans_b=true",
     R"("Input Strides": [[1], [8, 1], [1, 8], [], []])"},
    {"bmm", "aten::bmm", "ff", "[3, 4, 8], [3, 8, 16]", "cutlass_80_tensorop_s1688gemm_64x64",
     "gemm a_type=f32 b_type=f32 batch=3 c_type=f32 compute_type=tf32 k=8 m=4 n=16"},
    {"copy", "aten::copy_", "fhS", "[4, 8], [4, 8], []", "elementwise_kernel<128, 4>",
     "memory class=copy elements=32 read_bytes=64 write_bytes=128"},
    {"transposing_copy", "aten::copy_", "ffS", "[64, 40], [64, 40], []",
     "elementwise_kernel<128, 4>",
     "memory class=transpose dimensions=2 elements=2560 read_bytes=10240 write_bytes=10240",
     R"("Input Strides": [[40, 1], [1, 64], []])"},
    {"flash_attention_of_its_package", "flash_attn::_flash_attn_forward", "hhhSSS",
     "[2, 64, 8, 16], [2, 64, 4, 16], [2, 64, 4, 16], [], [], []",
     "void flash_fwd_kernel<Flash_fwd_kernel_traits<16>>",
     "attention batch=2 causal=true head_dim=16 heads=8 kv_heads=4 kv_len=64 pass=forward q_len=64 "
     "type=f16",
     R"("Concrete Inputs": ["", "", "", "0.", "0.25", "True"])"},
    {"flash_attention_3_of_sequences_behind_each_other", "flash_attn_3::fwd", "hhh____iiSS",
     "[128, 8, 64], [128, 4, 64], [128, 4, 64], [], [], [], [], [3], [3], [], []",
     "void cutlass::device_kernel<flash::FlashAttnFwdSm90<x>>",
     "attention batch=2 causal=true head_dim=64 heads=8 kv_heads=4 kv_len=64 pass=forward q_len=64 "
     "type=f16",
     R"("Concrete Inputs": ["", "", "", "", "", "", "", "", "", "0.125", "True"])"},
    {"flash_attention_3_of_a_cache_in_pages", "flash_attn_3::fwd", "hhh",
     "[2, 1, 8, 64], [99, 16, 4, 64], [99, 16, 4, 64]",
     "void cutlass::device_kernel<flash::FlashAttnFwdSm90<x>>", "operator"},
    {"gradient_of_flash_attention_3", "flash_attn_3::bwd", "hhhhS",
     "[2, 64, 8, 64], [2, 64, 8, 64], [2, 64, 4, 64], [2, 64, 4, 64], []",
     "void cutlass::device_kernel<flash::FlashAttnBwdSm90<x>>",
     "attention batch=2 causal=false head_dim=64 heads=8 kv_heads=4 kv_len=64 pass=backward "
     "q_len=64 type=f16",
     R"("Concrete Inputs": ["", "", "", "", "False"])"},
    {"sum_of_attentions_parts", "flash_attn::_flash_attn_forward", "hh",
     "[2, 1, 8, 16], [2, 64, 4, 16]", "void flash_fwd_splitkv_combine_kernel<x>",
     "memory class=reduction read_bytes=1024 write_bytes=512"},
    {"cat", "aten::cat", "TS", "[[4, 8], [4, 2]], []", "CatArrayBatchedCopy<OpaqueType<2u>, 1>",
     "memory class=copy elements=40 read_bytes=80 write_bytes=80"},
    {"softmax", "aten::_softmax", "hSS", "[2, 3, 5], [], []", "softmax_warp_forward",
     "softmax cols=5 pass=forward rows=6 type=f16", R"("Concrete Inputs": ["", "-1", "False"])"},
    {"norm", "aten::native_layer_norm", "fLffS", "[2, 3, 8], [], [8], [8], []",
     "vectorized_layer_norm_kernel", "norm cols=8 pass=forward rows=6 type=f32"},
    {"flash", "aten::_flash_attention_forward", "hhh__SSSS",
     "[2, 7, 4, 64], [2, 9, 1, 64], [2, 9, 1, 64], [], [], [], [], [], []", "flash_fwd_kernel",
     "attention batch=2 causal=true head_dim=64 heads=4 kv_heads=1 kv_len=9 pass=forward q_len=7 "
     "type=f16",
     R"("Concrete Inputs": ["", "", "", "", "", "7", "9", "0.", "True"])"},
    {"conv", "aten::cudnn_convolution", "ffLLLSSSS",
     "[4, 3, 32, 32], [8, 3, 3, 3], [], [], [], [], [], [], []", "implicit_gemm_fprop",
     "conv c=3 dilation=1 direction=forward h=32 k=8 n=4 pad=1 r=3 s=3 stride=2 type=f32 w=32",
     R"("Concrete Inputs": ["", "", "[1, 1]", "[2, 2]", "[1, 1]", "1", "False", "False", "True"])"},
    {"broadcast_by_stride", "aten::mul", "ff", "[4, 8], [4, 8]", "elementwise_kernel",
     "memory class=elementwise dimensions=2 elements=32 flops=32 read_bytes=160 write_bytes=128",
     R"("Input Strides": [[8, 1], [0, 1]])"},
    {"heads_before_the_sequence", "aten::mul", "ff", "[2, 4, 5, 8], [1, 1, 5, 8]",
     "elementwise_kernel",
     "memory class=elementwise dimensions=4 elements=320 flops=320 read_bytes=1440 "
     "write_bytes=1280",
     R"("Input Strides": [[160, 8, 32, 1], [40, 40, 8, 1]])"},
    {"efficient_attention", "aten::_efficient_attention_forward", "fff",
     "[2, 7, 4, 64], [2, 9, 4, 64], [2, 9, 4, 64]", "fmha_cutlassF_f32_aligned_64x64_rf_sm80",
     "attention batch=2 causal=true head_dim=64 heads=4 kv_heads=4 kv_len=9 pass=forward q_len=7 "
     "type=f32",
     R"("Concrete Inputs": ["", "", "", "", "", "", "", "", "0.", "2"])"},
    {"flash_backward", "aten::_flash_attention_backward", "hhh",
     "[2, 7, 4, 64], [2, 7, 4, 64], [2, 7, 4, 64]", "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel",
     "attention batch=2 causal=true head_dim=64 heads=4 kv_heads=4 kv_len=7 pass=backward q_len=7 "
     "type=f16",
     R"("Concrete Inputs": ["", "", "", "", "", "", "", "", "7", "7", "0.", "True"])"},
    {"flash_of_packed_sequences", "flash_attn::_flash_attn_varlen_forward", "hhhiiSSSSS",
     "[30, 4, 64], [30, 2, 64], [30, 2, 64], [4], [4], [], [], [], [], []", "flash_fwd_kernel",
     "attention batch=3 causal=true head_dim=64 heads=4 kv_heads=2 kv_len=10 pass=forward q_len=10 "
     "type=f16",
     R"("Concrete Inputs": ["", "", "", "", "", "12", "12", "0.", "0.125", "True"])"},
    {"convolution_of_volumes", "aten::cudnn_convolution", "ffLLLS",
     "[2, 3, 8, 32, 32], [16, 3, 2, 4, 4], [], [], [], []", "sm80_xmma_fprop_implicit_gemm",
     "conv c=6 dilation=1 direction=forward h=32 k=16 n=8 pad=0 r=4 s=4 stride=4 type=f32 w=32",
     R"("Concrete Inputs": ["", "", "[0, 0, 0]", "[2, 4, 4]", "[1, 1, 1]", "1"])"},
    {"linear_layer_of_someone", "_LayerNormLinear", "hhhhh",
     "[8, 2, 64], [64], [64], [192, 64], [192]", "nvjet_hsh_64x64_64x16_2x1_2cta_v_bz_bias_TNT",
     "gemm a_type=f16 b_type=f16 c_type=f16 k=64 m=16 n=192 trans_b=true"},
    {"norm_of_someone", "_LayerNormLinear", "hhhhh", "[8, 2, 64], [64], [64], [192, 64], [192]",
     "transformer_engine::normalization::ln_fwd_tuned_kernel",
     "norm cols=64 pass=forward rows=16 type=f16"},
    {"product_of_one_of_two_matrices", "_LayerNormMLP", "fff", "[16, 64], [64, 64], [64, 64]",
     "ampere_sgemm_64x64_tn", "operator"},
    {"rotary_embedding", "_C::rotary_embedding", "lbbSbS",
     "[5], [5, 128], [5, 64], [], [4096, 32], []",
     "vllm::rotary_embedding_kernel<c10::BFloat16, true>",
     "memory class=elementwise elements=960 flops=2880 read_bytes=2280 write_bytes=1920"},
    {"index", "aten::index", "fT", "[100, 8], [[5]]", "index_elementwise_kernel<128, 4>",
     "memory class=gather elements=40 read_bytes=200 write_bytes=160"},
    {"batch_norm", "aten::cudnn_batch_norm", "ff", "[2, 3, 4, 4], [3]",
     "cudnn::bn_fw_tr_1C11_kernel_NCHW",
     "memory class=norm elements=96 flops=768 read_bytes=384 write_bytes=384"},
    {"vector", "aten::mv", "ff", "[16, 8], [8]", "gemv2T_kernel_val",
     "gemm a_type=f32 b_type=f32 c_type=f32 k=8 m=16 n=1"},
    {"compiled", "triton_poi_fused_add_relu_0", "fffS", "[16, 8], [8], [16, 8], []",
     "triton_poi_fused_add_relu_0",
     "memory class=fused elements=128 flops=128 read_bytes=544 write_bytes=512"},
    {"list_copy", "aten::_foreach_copy_", "TT", "[[4, 8], [2]], [[4, 8], [2]]",
     "multi_tensor_apply_kernel<TensorListMetadata<2>, CopyFunctor<float, 2, 1, 1>>",
     "memory class=copy elements=34 read_bytes=136 write_bytes=136"},
    {"pooling", "aten::avg_pool2d", "fLLL", "[2, 8, 12, 12], [], [], []",
     "avg_pool2d_out_cuda_frame<float, float>",
     "memory class=pooling elements=2304 flops=576 read_bytes=9216 write_bytes=2304",
     R"("Concrete Inputs": ["", "[3, 3]", "[2, 2]", "[1, 1]"])"},
    {"pooling_backward", "aten::avg_pool2d_backward", "ff", "[2, 8, 6, 6], [2, 8, 12, 12]",
     "avg_pool2d_backward_out_cuda_frame<float, float>",
     "memory class=pooling elements=2304 flops=576 read_bytes=2304 write_bytes=9216"},
    {"one_of_the_kernels_of_a_list", "aten::_foreach_add_", "TTS",
     "[[1000, 1000]], [[1000, 1000]], []",
     "multi_tensor_apply_kernel<TensorListMetadata<2>, BinaryOpListAlphaFunctor<float, 2, 2, 0>>",
     "memory class=lists elements=262144 read_bytes=2097152 write_bytes=1048576"},
    {"optimizer", "aten::_fused_adam_", "TTTT_T", "[[100]], [[100]], [[100]], [[100]], [], [[]]",
     "multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>, FusedAdamMathFunctor<float, "
     "4>>",
     "memory class=optimizer elements=100 read_bytes=1600 write_bytes=1200"},
    {"transposed_convolution", "aten::cudnn_convolution_transpose", "ffLLLLS",
     "[2, 8, 5, 5], [8, 4, 4, 4], [], [], [], [], []", "sm80_xmma_dgrad_implicit_gemm",
     "conv c=4 dilation=1 direction=backward_data h=10 k=8 n=2 pad=1 r=4 s=4 stride=2 type=f32 "
     "w=10",
     R"("Concrete Inputs": ["", "", "[1, 1]", "[0, 0]", "[2, 2]", "[1, 1]", "1"])"},
    {"gradient_of_a_transposed_convolution", "aten::convolution_backward", "fff_LLLSLS",
     "[2, 4, 10, 10], [2, 8, 5, 5], [8, 4, 4, 4], [], [], [], [], [], [], []",
     "sm80_xmma_fprop_implicit_gemm",
     "conv c=4 dilation=1 direction=forward h=10 k=8 n=2 pad=1 r=4 s=4 stride=2 type=f32 w=10",
     R"("Concrete Inputs": ["", "", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "True", "[0, 0]", "1"])"},
    {"convolution_of_lines", "aten::convolution_backward", "fff_LLLSLS",
     "[2, 6, 9], [2, 4, 9], [6, 2, 3], [], [], [], [], [], [], []", "sm80_xmma_wgrad_implicit_gemm",
     "conv c=4 dilation=1 direction=backward_filter groups=2 h=1 k=6 n=2 pad=0x1 r=1 s=3 stride=1 "
     "type=f32 w=9",
     R"("Concrete Inputs": ["", "", "", "", "[1]", "[1]", "[1]", "False", "[0]", "2"])"},
    {"numbers_of_channels", "aten::native_group_norm_backward", "ff",
     "[2, 8, 64, 64], [2, 8, 64, 64]",
     "elementwise_kernel<128, 2, GroupNormBackwardKernelImplInternal>",
     "memory class=norm elements=16 read_bytes=256 write_bytes=128"},
    {"order_of_indices", "aten::embedding_dense_backward", "fl", "[5, 8], [5]",
     "DeviceRadixSortOnesweepKernel", "memory class=sort elements=5 read_bytes=80 write_bytes=80"},
    {"embedding_bags", "aten::_embedding_bag", "fll", "[100, 8], [20], [4]",
     "EmbeddingBag_updateOutputKernel_sum_mean",
     "memory class=gather elements=160 read_bytes=800 write_bytes=128"},
    {"indices_without_sizes", "aten::index", "f_", "[100, 8], []",
     "vectorized_gather_kernel<16, long>",
     "memory class=gather elements=32 read_bytes=160 write_bytes=128"},
    {"grouped_product", "aten::_grouped_mm", "bbi", "[64, 16], [4, 16, 32], [4]",
     "_ZN7cutlass13device_kernel_GemmUniversal",
     "grouped_gemm a_type=bf16 b_type=bf16 c_type=bf16 groups=4 k=16 m_total=64 n=32"},
    {"step_of_a_recurrent_layer", "aten::_cudnn_rnn", "hTS_hhS",
     "[100, 64, 512], [[1]], [], [], [1, 64, 128], [1, 64, 128], []",
     "ampere_fp16_s16816gemm_fp16_64x64_ldg8_f2f_stages_64x5_tn",
     "gemm a_type=f16 b_type=f16 c_type=f16 k=128 m=64 n=512",
     R"("Concrete Inputs": ["", "", "4", "", "", "", "2"])"},
    {"image_that_was_larger", "aten::upsample_nearest2d_backward", "fLL", "[2, 3, 8, 8], [], []",
     "upsample_nearest2d_backward_out_frame<float>",
     "memory class=elementwise elements=384 flops=384 read_bytes=1536 write_bytes=384",
     R"("Concrete Inputs": ["", "[8, 8]", "[2, 3, 4, 4]"])"},
    {"sizes_not_recorded", "aten::cat", "TS", "[], []", "CatArrayBatchedCopy<float>", "operator"}};

class TorchOperators : public TestWithParam<OperatorCase> {};

TEST_P(TorchOperators, HaveTheWorkOfTheirArguments) {
  const OperatorCase& each = GetParam();
  std::vector<std::string> types;
  for (const char letter : std::string(each.types))
    types.push_back(fmt::format("\"{}\"", kTypes.at(letter)));
  std::string args =
      fmt::format(R"("Input Dims": [{}], "Input type": [{}])", each.dims, fmt::join(types, ", "));
  if (*each.more_args != '\0') args += std::string(", ") + each.more_args;
  const Profile profile = read_profile(trace_of({host("cpu_op", each.name, 10, 20, args),
                                                 launch(12, 1), kernel(each.kernel, 20, 9, 1)}),
                                       "t.json");
  EXPECT_EQ(op_text(*profile.events.at(0).op), each.op);
}

INSTANTIATE_TEST_SUITE_P(All, TorchOperators, ValuesIn(kOperators),
                         [](const auto& each) { return each.param.what; });

TEST(TorchTrace, ThatIsCutOffOrDamagedIsReadUpToThere) {
  const std::string whole = trace_of(steps({1, 2, 3}));
  const std::size_t third = whole.find("ProfilerStep#3");
  const std::string warning = "the 10 events before are read";
  std::string damaged = whole;
  damaged[whole.rfind("{\"ph\"", third)] = '#';
  const std::string unclosed = whole.substr(0, third) + "}";
  for (const std::string& text :
       {whole.substr(0, third), whole.substr(0, third + 40), damaged, unclosed}) {
    const Profile profile = read_trace_text(text);
    EXPECT_EQ(profile.iter_time_ms.size(), 2U);
    EXPECT_NE(profile.warnings[0].find(warning), std::string::npos) << profile.warnings[0];
  }
}

TEST(TorchTrace, TimesThatNoClockGivesAreLeftOutAndCounted) {
  auto events = steps({1, 2});
  events.push_back(kernel("endless", 1300, 1e300, 99));
  events.push_back(kernel("backwards", 1300, -1, 99));
  events.push_back(kernel("late", 1e300, 1, 99));
  const Profile profile = read_trace_text(trace_of(events));
  EXPECT_EQ(profile.events.size(), 2U);
  EXPECT_EQ(profile.warnings[0],
            "3 events are left out: their start or duration is none that a clock gives");
}

TEST(TorchTrace, KernelsWithoutALaunchOnRecordNameTheirOperator) {
  std::vector<std::string> events{
      host("cpu_op", "aten::add", 20, 10, std::string(kAdd) + R"(, "External id": 77)"),
      R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 40, "dur": 3,
          "args": {"device": 0, "stream": 7, "External id": 77}})"};
  EXPECT_EQ(read_trace_text(trace_of(events)).events.at(0).op->source, "aten::add");
}

TEST(TorchTrace, LaunchesOnAnEmptyStreamCameLate) {
  const Profile profile = read_trace_text(trace_of({
      host("cuda_runtime", "cudaDeviceSynchronize", 1, 2, R"("correlation": 8)"),
      host("cpu_op", "aten::add", 4, 100, kAdd),
      launch(10, 1),
      kernel("a", 12, 30, 1),
      launch(20, 2),  // while a runs
      kernel("b", 42, 5, 2),
      host("cuda_runtime", "cudaStreamSynchronize", 43, 6, R"("correlation": 9)"),
      launch(60, 3),
      kernel("c", 63, 5, 3),
  }));
  EXPECT_TRUE(std::isnan(profile.events[0].after_wait_us[0])) << "the profiler's own wait";
  EXPECT_EQ(profile.events[1].tight[0], Tight::kYes);
  EXPECT_EQ(profile.events[2].tight[0], Tight::kNo);
  EXPECT_DOUBLE_EQ(profile.events[2].after_wait_us[0], 11);
}

TEST(TorchTrace, WorksBeforeADamageAreInTheTextThatIsLeft) {
  const std::string text = trace_of({kernel("a", 10, 2, 1), kernel("b", 20, 2, 2)});
  const std::size_t comma = text.find(",\n{\"ph\"");
  ASSERT_NE(comma, std::string::npos);
  std::string damaged = text;
  damaged[comma] = '1';
  const torch_trace::TracedWorks found = torch_trace::find_works(damaged, "t.json");
  ASSERT_EQ(found.works.size(), 1U);
  EXPECT_EQ(found.text.at(found.works[0].args_end), '}');
  const std::string endless =
      trace_of({host("user_annotation", "ProfilerStep#1", 0, 9),
                host("user_annotation", "ProfilerStep#2", 20, 9), launch(1, 1), launch(21, 2),
                kernel("a", 50, 2, 1), kernel("b", 40, 2, 2)});
  for (const double ms : read_trace_text(endless).iter_time_ms)
    EXPECT_GE(ms, 0) << "the second step's work is the first";
}

TEST(TorchTrace, WorksAreFoundInTheText) {
  const std::string text = trace_of(steps({1, 2, 3}));
  const torch_trace::TracedWorks found = torch_trace::find_works(text, "t.json");
  EXPECT_EQ(found.text, text);
  ASSERT_EQ(found.works.size(), 6U);
  for (std::size_t i = 0; i < found.works.size(); ++i) {
    EXPECT_EQ(text.substr(found.works[i].args_end - 1, 3), "]}}");
    EXPECT_EQ(found.works[i].event, i % 2);
    EXPECT_TRUE(found.works[i].has_args);
  }
  const std::string cut = text.substr(0, text.find("ProfilerStep#3"));
  EXPECT_TRUE(read_trace_text(text).complete);
  EXPECT_FALSE(read_trace_text(cut).complete);
  EXPECT_EQ(torch_trace::find_works(cut, "t.json").text,
            text.substr(0, text.find(",\n", found.works[3].args_end)) + "]}")
      << "what is cut off ends as a trace does";
}

TEST(TorchTrace, AsAListHasAllEventsWithADuration) {
  const Trace trace = parse_trace(R"({"schemaVersion": 1, "traceEvents": [
    {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}},
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 2, "ts": 5.5, "dur": 3,
     "args": {"Input Dims": [[64, 13], [], [[2], [3]]]}},
    {"cat": "Operator", "name": "mm", "ts": 1, "dur": 1, "args": {"Input dims": [[8]]}},
    {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": "stream 7", "ts": 6, "dur": 1,
     "args": {"correlation": 3, "stream": 7, "block": [32, 4, 1]}}]})",
                                  "t.json");
  ASSERT_EQ(trace.events.size(), 3U);
  const TraceEvent& op = trace.events[0];
  EXPECT_EQ(op.kind, TraceKind::kOperator);
  EXPECT_EQ(op.end_us(), 8.5);
  EXPECT_EQ(op.inputs, (std::vector<Shape>{{64, 13}, {}, {}}));
  EXPECT_EQ(op.shapes, "(((64, 13), (), ((2,), (3,))), ((-1,),))");
  EXPECT_EQ(trace.events[1].shapes, "(((8,),), ((-1,),))");
  EXPECT_EQ(trace.events[2].correlation, 3);
  EXPECT_EQ(trace.events[2].block, (Shape{32, 4, 1}));
  EXPECT_EQ(trace.events[2].thread, "stream 7");
}

TEST(TorchTrace, ThatCannotBeUsedIsRefusedWithAReason) {
  EXPECT_EQ(refusal_of_trace(R"({"schemaVersion": 1})"),
            "t.json: no \"traceEvents\": expected a trace of torch.profiler");
  EXPECT_EQ(refusal_of_trace(trace_of({host("cpu_op", "aten::add", 1, 2)})),
            "t.json: holds no kernel: expected a trace with ProfilerActivity.CUDA");
  EXPECT_EQ(refusal_of_trace(
                trace_of({host("hip_runtime", "hipLaunchKernel", 1, 2, R"("correlation": 1)"),
                          kernel("k", 2, 1, 1)})),
            "t.json: recorded on an AMD GPU; expected one of NVIDIA's, for whose kernels there are "
            "models");
  EXPECT_NE(refusal_of_trace(R"({"traceEvents": [nonsense)").find("expected the JSON of a trace"),
            std::string::npos);
}

// A step that PyTorch's profiler recorded on the CPU; for each operator that would launch one, a
// kernel was put in, with the name that PyTorch's has and a made-up time.
TEST(TorchTrace, BackwardKernelsOfARecordedStepHaveTheirModules) {
  const std::filesystem::path file =
      std::filesystem::path(INLINE_PROF_TEST_DATA) / "torch_cpu/modules_and_backward.json.gz";
  std::string text = gunzip(read_text(file), file.string(), kMaxFileBytes);
  std::string without_arrows = text;
  for (std::size_t at = 0; (at = without_arrows.find("\"fwdbwd\"", at)) != std::string::npos; ++at)
    without_arrows.replace(at, 8, "\"arrows\"");
  for (const std::string& each : {text, without_arrows}) {
    const Profile profile = read_trace_text(each);
    EXPECT_EQ(profile.iter_time_ms.size(), 2U);
    std::map<std::string, std::string> kernels_of;  // by layer, their first words
    for (const Event& event : profile.events) {
      EXPECT_EQ(event.measured_ms.size(), 2U) << event.name;
      kernels_of[event.layer] += event.name.substr(0, event.name.find_first_of("_<")) + " ";
    }
    EXPECT_EQ(kernels_of["Block_1/Linear_2"], "cutlass ");
    EXPECT_EQ(kernels_of["Block_1/Linear_2.backward"], "ampere ampere reduce ")
        << "gradients of the input, the weights and the bias";
    EXPECT_EQ(kernels_of["Block_0/LayerNorm_0.backward"], "layer ");
    EXPECT_EQ(kernels_of["Block_0"], "vectorized ") << "gelu, which is no module";
    EXPECT_EQ(kernels_of["Block_0.backward"], "vectorized ");
    EXPECT_EQ(kernels_of["Linear_4.backward"], "ampere ampere reduce ");
    EXPECT_EQ(kernels_of["Optimizer.step#SGD.step"], "multi ");
  }
}

struct RealTrace {
  const char* file;
  std::size_t works;      // kernels, copies and fills of its steps
  double busy_ms;         // their sum, in all steps
  double part_with_work;  // of that time: whose operation is known
};

class RealTraces : public TestWithParam<RealTrace> {};

// Sums as the traces' own events give them (counted by a script of a few lines from the same JSON).
TEST_P(RealTraces, AreReadWhole) {
  const RealTrace& each = GetParam();
  const std::filesystem::path file = std::filesystem::path(INLINE_PROF_TEST_DATA) / "real_traces" /
                                     (std::string(each.file) + ".json.gz");
  const std::string compressed = read_text(file);
  ASSERT_TRUE(is_gzip(compressed));
  const Profile profile =
      torch_trace::read(gunzip(compressed, each.file, kMaxFileBytes), each.file);
  std::size_t works = 0;
  double busy_ms = 0, known_ms = 0;
  for (const Event& event : profile.events) {
    works += event.measured_ms.size();
    const double own_ms = std::accumulate(event.measured_ms.begin(), event.measured_ms.end(), 0.0);
    busy_ms += own_ms;
    if (event.op && event.op->kind != "operator") known_ms += own_ms;
  }
  EXPECT_EQ(works, each.works);
  EXPECT_NEAR(busy_ms, each.busy_ms, 1e-3);
  EXPECT_GE(known_ms / busy_ms, each.part_with_work);
}

INSTANTIATE_TEST_SUITE_P(All, RealTraces,
                         Values(RealTrace{"h100_falconsai_vit", 156, 1.225, 0.99},
                                RealTrace{"h100_qwen1.5_0.5b", 1198, 31.905, 0.99},
                                RealTrace{"h100_timesformer", 534, 158.433, 0.99},
                                RealTrace{"h100_bert_small", 61, 0.309, 0.99},
                                RealTrace{"b200_gptoss_vllm", 929, 11.666, 0.2}),
                         [](const auto& each) {
                           std::string name = each.param.file;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

TEST(Gzip, GivesWhatWasCompressedAndRefusesWhatIsDamaged) {
  const std::filesystem::path file =
      std::filesystem::path(INLINE_PROF_TEST_DATA) / "real_traces/h100_bert_small.json.gz";
  const std::string compressed = read_text(file);
  const std::string text = gunzip(compressed, "f", kMaxFileBytes);
  EXPECT_EQ(gunzip(compressed + compressed, "f", kMaxFileBytes), text + text)
      << "files may be put together";
  EXPECT_EQ(text.substr(
                0, gunzip(compressed.substr(0, compressed.size() / 2), "f", kMaxFileBytes).size()),
            gunzip(compressed.substr(0, compressed.size() / 2), "f", kMaxFileBytes))
      << "one that is cut off gives its first part";
  std::string damaged = compressed;
  damaged[damaged.size() / 2] ^= 0x55;
  EXPECT_NE(test::complaint([&] { return gunzip(damaged, "f.gz", kMaxFileBytes); }).find("damaged"),
            std::string::npos);
  EXPECT_EQ(test::complaint([&] { return gunzip(compressed, "f.gz", 100); }),
            "f.gz: longer than 100 bytes once it is decompressed, the most that is read");
}

}  // namespace
}  // namespace inline_prof::read
