// Which model prof-analyze takes, on the parameters that are shipped.
#include "model/predictor.hpp"

#include "profile_builder.hpp"
#include "testing.hpp"

#include <fmt/format.h>

namespace inline_prof::model {
namespace {

read::Op product(std::int64_t m, std::int64_t n, std::int64_t k, const std::string& type) {
  return test::gemm_op(m, n, k, type);
}

TEST(Predictor, KnowsProductsOnAMeasuredMachine) {
  const auto found =
      Predictor(Models::kCalibrated)
          .predict(product(4096, 4096, 4096, "bf16"), builtin_machine("h200-sxm-141gb"));
  ASSERT_TRUE(found.prediction) << found.reason;
  EXPECT_EQ(found.prediction->model, "gemm");
  EXPECT_EQ(found.prediction->parameters, "h200-sxm-141gb bf16");
  // NVIDIA's table has 175 us for this shape.
  EXPECT_NEAR(in_microseconds(found.prediction->time), 175, 18);
  ASSERT_TRUE(found.prediction->interval90);
  EXPECT_LT(found.prediction->interval90->first, found.prediction->time);
  EXPECT_FALSE(found.prediction->is_extrapolated);
  const TailProbability slow = found.prediction->tail_probability(2 * found.prediction->time);
  EXPECT_LT(slow.slower, 0.01);
  EXPECT_GT(slow.faster, 0.9);
}

TEST(Predictor, TakesAMachineWithTheSameUnitsForAnother) {
  const auto found =
      Predictor(Models::kCalibrated)
          .predict(product(4096, 4096, 4096, "f16"), builtin_machine("a100-sxm4-40gb"));
  ASSERT_TRUE(found.prediction);
  EXPECT_EQ(found.prediction->parameters, "a100-sxm4-80gb bf16");
}

TEST(Predictor, KnowsSinglePrecisionBetterWithItsKernel) {
  const Predictor calibrated(Models::kCalibrated);
  const read::Machine a100 = builtin_machine("a100-sxm4-40gb");
  // 2 * 4096^3 FLOP at 19.5 TFLOP/s are 7.05 ms; 1024 blocks of 128 x 128 cover C.
  const read::Op op = product(4096, 4096, 4096, "f32");
  const auto unknown = calibrated.predict(op, a100);
  const auto known = calibrated.predict(op, a100, {"ampere_sgemm_128x128_tn", 1024});
  ASSERT_TRUE(unknown.prediction && known.prediction);
  EXPECT_EQ(unknown.prediction->parameters, "a100-sxm4-40gb f32");
  EXPECT_EQ(known.prediction->parameters, "a100-sxm4-40gb f32 kernel");
  for (const auto* found : {&unknown, &known}) {
    EXPECT_GT(in_microseconds(found->prediction->time), 7050);
    EXPECT_LT(in_microseconds(found->prediction->time), 9500);
  }
  // Blocks that the name's tile does not explain say nothing.
  const auto other = calibrated.predict(op, a100, {"ampere_sgemm_128x128_tn", 1000});
  EXPECT_EQ(other.prediction.value().parameters, "a100-sxm4-40gb f32");
  // A short one is mostly the timer of the measurements.
  EXPECT_EQ(calibrated.predict(product(64, 64, 64, "f32"), a100).prediction.value().model,
            "roofline");
  read::Op tensor = op;
  tensor.attributes.emplace_back("compute_type", std::string("tf32"));
  // tf32 has the parameters of bf16 and half its peak: 137 GFLOP at 156 TFLOP/s are 881 us.
  const Prediction half_the_peak = calibrated.predict(tensor, a100).prediction.value();
  EXPECT_EQ(half_the_peak.parameters, "a100-sxm4-80gb tf32");
  EXPECT_GT(in_microseconds(half_the_peak.time), 881);
  EXPECT_LT(in_microseconds(half_the_peak.time), 1400);
  ASSERT_TRUE(half_the_peak.interval90);
  EXPECT_GT(in_microseconds(half_the_peak.interval90->second),
            1.4 * in_microseconds(half_the_peak.time));
}

// 8-bit products take the parameters of the library that the kernel's name tells; without one those
// of all stacks together.
TEST(Predictor, TellsLibrariesOf8BitProductsApart) {
  const Predictor calibrated(Models::kCalibrated);
  const auto h200 = builtin_machine("h200-sxm-141gb");
  const auto predicted = [&](const char* kernel) {
    return calibrated.predict(product(4096, 4096, 4096, "f8e4m3"), h200, {kernel, 0})
        .prediction.value();
  };
  const Prediction any = predicted(""), cublas = predicted("nvjet_qqtst_128x256_64x6_2x1_v_TNT");
  const Prediction block = predicted("deep_gemm::sm90_fp8_gemm_1d2d_impl<...>");
  for (const Prediction* const found : {&any, &cublas, &block}) {
    ASSERT_TRUE(found->interval90);
    EXPECT_GT(in_microseconds(found->time), 69) << "137 GFLOP at 1979 TFLOP/s";
    EXPECT_LT(in_microseconds(found->time), 180);
  }
  const auto width = [](const Prediction& found) {
    return found.interval90->second.value / found.interval90->first.value;
  };
  EXPECT_GT(width(any), 1.3 * width(cublas)) << "two stacks";
  EXPECT_NE(cublas.time.value, block.time.value);
}

// DeepGEMM's own times of grouped products on H800 (its README at 5da24e22, 2025).
TEST(Predictor, GroupedProductsAreProductsOfEachGroup) {
  const Predictor calibrated(Models::kCalibrated);
  double error = 0;
  const std::vector<std::array<double, 5>> rows{{4, 8192, 4096, 7168, 1483.5},
                                                {8, 4096, 7168, 2048, 880.2},
                                                {1, 1024, 7168, 2048, 32.5},
                                                {2, 512, 4096, 7168, 57.8},
                                                {4, 256, 4096, 7168, 64.5}};
  for (const auto& [groups, m, n, k, measured_us] : rows) {
    const read::Op op = op_of(fmt::format(
        "grouped_gemm groups={} m_total={} n={} k={} a_type=f8e4m3 b_type=f8e4m3 c_type=bf16",
        groups, static_cast<std::int64_t>(groups * m), static_cast<std::int64_t>(n),
        static_cast<std::int64_t>(k)));
    const auto found =
        calibrated
            .predict(op, builtin_machine("h800-sxm5-80gb"), {"deep_gemm::sm90_fp8_gemm_1d2d", 0})
            .prediction.value();
    error += std::abs(in_microseconds(found.time) / measured_us - 1) / 5;
    ASSERT_TRUE(found.interval90);
    EXPECT_LT(in_microseconds(found.interval90->first), measured_us);
    EXPECT_GT(in_microseconds(found.interval90->second), measured_us);
  }
  EXPECT_LT(error, 0.12);
}

TEST(Predictor, FallsBackToTheRoofline) {
  const Predictor calibrated(Models::kCalibrated);
  const auto wide =
      calibrated.predict(product(512, 512, 512, "f32"), builtin_machine("h200-sxm-141gb"));
  ASSERT_TRUE(wide.prediction);
  EXPECT_EQ(wide.prediction->model, "roofline");  // no parameters for the type
  const auto other =
      calibrated.predict(product(512, 512, 512, "bf16"), builtin_machine("v100-sxm2-16gb"));
  EXPECT_NE(other.prediction ? other.prediction->model : "", "gemm");  // a type it does not have
}

TEST(Predictor, AGpuThatNobodyMeasuredHasAWideIntervalFromItsNearestRelative) {
  const Predictor calibrated(Models::kCalibrated);
  const auto op = product(4096, 4096, 4096, "f16");
  const auto width = [&](const char* id) {
    const auto found = calibrated.predict(op, builtin_machine(id)).prediction.value();
    EXPECT_EQ(found.model, "gemm") << id;
    const auto [lower, upper] = found.interval90.value();
    return in_microseconds(upper) / in_microseconds(lower);
  };
  const double measured = width("a100-sxm4-80gb");
  for (const char* id : {"v100-sxm2-16gb", "v100-pcie-32gb", "titan-v", "l40s", "rtx-4090", "gb200",
                         "h100-pcie-80gb", "mi300x"}) {
    EXPECT_GT(width(id), 1.0) << id;
  }
  EXPECT_GT(width("l40s"), 1.5 * measured);
  EXPECT_EQ(calibrated.predict(op, builtin_machine("l40s")).prediction.value().parameters,
            "a100-sxm4-80gb bf16");
}

TEST(Predictor, PredictsEverythingByTheRooflineIfAsked) {
  const auto found =
      Predictor(Models::kRoofline)
          .predict(product(4096, 4096, 4096, "bf16"), builtin_machine("h200-sxm-141gb"));
  ASSERT_TRUE(found.prediction);
  EXPECT_EQ(found.prediction->model, "roofline");
  EXPECT_FALSE(found.prediction->interval90);
}

read::Op copy_of(std::int64_t bytes) {
  return memory_op(bytes, bytes);
}

TEST(Predictor, KnowsTheMovementOfLargeDataOnly) {
  const Predictor calibrated(Models::kCalibrated);
  const read::Machine a100 = builtin_machine("a100-sxm4-40gb");
  // 2 x 256 MiB at 1555 GB/s are 345 us; the table's timer launched for 30 us.
  const auto large = calibrated.predict(copy_of(std::int64_t{1} << 28), a100);
  ASSERT_TRUE(large.prediction) << large.reason;
  EXPECT_EQ(large.prediction->model, "memory");
  EXPECT_EQ(large.prediction->parameters, "a100-sxm4-40gb");
  EXPECT_EQ(large.prediction->bound, Bound::kMemory);
  EXPECT_GT(in_microseconds(large.prediction->time), 345);
  EXPECT_LT(in_microseconds(large.prediction->time), 345 / 0.75);
  ASSERT_TRUE(large.prediction->interval90);
  EXPECT_LT(large.prediction->interval90->first, large.prediction->time);
  // The timer's launch hides a kernel of 1 MiB.
  const auto small = calibrated.predict(copy_of(std::int64_t{1} << 20), a100);
  ASSERT_TRUE(small.prediction);
  EXPECT_EQ(small.prediction->model, "roofline");
}

TEST(Predictor, BoundsConvolutionsByTheUnitsTheyRunOn) {
  read::Op op = op_of("conv n=32 c=256 h=56 w=56 k=256 r=3 s=3 pad=1 type=f32 direction=forward");
  const read::Machine a100 = builtin_machine("a100-pcie-80gb");
  const auto time_us = [&](Models models) {
    const auto outcome = Predictor(models).predict(op, a100, {"a_kernel", 330});
    EXPECT_TRUE(outcome.prediction) << outcome.reason;
    return in_microseconds(outcome.prediction->time);
  };
  const double scalar_us = time_us(Models::kRoofline);
  op.attributes.emplace_back("compute_type", std::string("tf32"));
  EXPECT_NEAR(time_us(Models::kRoofline), scalar_us * 19.5 / 156, scalar_us * 0.001);
  EXPECT_EQ(time_us(Models::kCalibrated), time_us(Models::kRoofline))
      << "parameters of kernels that compute in f32 say nothing about tf32";
}

TEST(Predictor, KnowsConvolutionsWhoseKernelItKnows) {
  // A layer of the measured table: 38 images of 5x5, 893 to 326 channels, 967 us with the timer's.
  const read::Op op =
      op_of("conv n=38 c=893 h=5 w=5 k=326 r=3 s=3 pad=1 type=f32 direction=forward");
  const Predictor calibrated(Models::kCalibrated);
  const read::Machine a100 = builtin_machine("a100-pcie-80gb");
  const auto known = calibrated.predict(
      op, a100, {"void implicit_convolve_sgemm<float, float, 128, 5, 5, 3, 3, 3>", 330});
  ASSERT_TRUE(known.prediction) << known.reason;
  EXPECT_EQ(known.prediction->model, "conv");
  EXPECT_EQ(known.prediction->parameters, "a100-pcie-80gb f32 forward");
  EXPECT_GT(in_microseconds(known.prediction->time), 967 * 0.5);
  EXPECT_LT(in_microseconds(known.prediction->time), 967 * 1.2);
  for (const char* kernel : {"", "a_kernel_of_my_own"}) {
    const auto unknown = calibrated.predict(op, a100, {kernel, 330});
    ASSERT_TRUE(unknown.prediction) << unknown.reason;
    EXPECT_EQ(unknown.prediction->model, "roofline") << kernel;
  }
}

TEST(Predictor, ConvolutionsOnTensorCoresOfAnyGpuHaveAnInterval) {
  // The patch embeddings of two traces (tests/data/real_traces), by parameters of V100.
  const Predictor calibrated(Models::kCalibrated);
  const char* const kernel =
      "cutlass_tensorop_bf16_s16816fprop_optimized_bf16_256x64_32x4_nhwc_align8";
  const auto found = [&](std::int64_t images, double blocks) {
    read::Op op = op_of(fmt::format(
        "conv n={} c=3 h=224 w=224 k=768 r=16 s=16 stride=16 type=bf16 direction=forward", images));
    return calibrated.predict(op, builtin_machine("h100-sxm5-80gb"), {kernel, blocks})
        .prediction.value();
  };
  for (const auto& [images, blocks, measured_us] :
       {std::tuple{4, 48, 98.2}, std::tuple{128, 1176, 863.1}}) {
    const Prediction prediction = found(images, blocks);
    EXPECT_EQ(prediction.model, "conv");
    EXPECT_NEAR(in_microseconds(prediction.time), measured_us, 0.2 * measured_us);
    ASSERT_TRUE(prediction.interval90);
    EXPECT_LT(in_microseconds(prediction.interval90->first), measured_us);
    EXPECT_GT(in_microseconds(prediction.interval90->second), measured_us);
  }
}

TEST(Predictor, KnowsEmbeddings) {
  read::Op op = op_of("embedding batch=65536 tables=1 rows=10000000 bag=1 dim=128");
  const auto found = Predictor(Models::kCalibrated).predict(op, builtin_machine("a100-sxm4-40gb"));
  ASSERT_TRUE(found.prediction) << found.reason;
  EXPECT_EQ(found.prediction->model, "embedding");
  EXPECT_TRUE(found.prediction->interval90);
  // Rows in and sums out: 67 MB at 1555 GB/s are 43 us.
  EXPECT_GT(in_microseconds(found.prediction->time), 43);
  EXPECT_LT(in_microseconds(found.prediction->time), 86);
  op.attributes.emplace_back("pass", std::string("sideways"));
  EXPECT_FALSE(
      Predictor(Models::kCalibrated).predict(op, builtin_machine("a100-sxm4-40gb")).prediction);
}

TEST(Predictor, KnowsCollectivesOfMeasuredRankCounts) {
  const auto all_reduce = [](std::int64_t ranks) {
    return op_of(fmt::format("collective bytes=268435456 ranks={} op=all_reduce type=f16", ranks));
  };
  const Predictor calibrated(Models::kCalibrated);
  const auto found = calibrated.predict(all_reduce(8), builtin_machine("h200-sxm-141gb"));
  ASSERT_TRUE(found.prediction) << found.reason;
  EXPECT_EQ(found.prediction->model, "collective");
  EXPECT_FALSE(found.prediction->is_extrapolated);
  EXPECT_TRUE(calibrated.predict(all_reduce(4), builtin_machine("h200-sxm-141gb"))
                  .prediction->is_extrapolated);
}

}  // namespace
}  // namespace inline_prof::model
