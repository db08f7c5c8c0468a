#include "model/calibrated/gemm/gemm.hpp"

#include "model/calibrated/gemm/gemm_analytic.hpp"
#include "model/shipped_parameters.hpp"
#include "profile_builder.hpp"
#include "testing.hpp"

namespace inline_prof::model {
namespace {

read::Machine h200() {
  return builtin_machine("h200-sxm-141gb");
}

GemmAnalytic start_model(const read::Machine& machine) {
  const auto types = *gemm_types("bf16");
  std::vector<double> values;
  for (const ParameterSpec& spec : GemmAnalytic::parameters(false))
    values.push_back(spec.name == "l2_tb_per_s" ? 40 : spec.start);  // never what bounds
  return {gemm_machine(machine, types), types, false, values};
}

TEST(GemmAnalytic, IsNeverFasterThanPeakOrBandwidth) {
  const read::Machine machine = h200();
  const GemmAnalytic model = start_model(machine);
  for (const double m : {1.0, 64.0, 129.0, 4096.0, 65536.0}) {
    for (const double n : {8.0, 1000.0, 8192.0}) {
      for (const double k : {16.0, 777.0, 16384.0}) {
        const GemmTime time = model.predict({m, n, k, 1});
        EXPECT_GT(time.time_us, 2 * m * n * k / (machine.peak_tflops.at("bf16") * 1e6));
        EXPECT_TRUE(std::isfinite(time.time_us));
      }
    }
  }
}

TEST(GemmAnalytic, NamesWhatBoundsAProduct) {
  const GemmAnalytic model = start_model(h200());
  EXPECT_EQ(model.predict({8192, 8192, 8192, 1}).bound, "compute");
  EXPECT_EQ(model.predict({1, 65536, 8192, 1}).bound, "memory");
  EXPECT_EQ(model.predict({16, 16, 16, 1}).bound, "launch");
}

TEST(GemmAnalytic, OneMoreRowThanATileCostsAtLeastAsMuch) {
  const GemmAnalytic model = start_model(h200());
  for (const double m : {64.0, 128.0, 256.0, 1024.0})
    EXPECT_LE(model.predict({m, 4096, 4096, 1}).time_us,
              model.predict({m + 1, 4096, 4096, 1}).time_us);
}

TEST(GemmAnalytic, AKnownKernelIsOneOfThoseItChoosesFrom) {
  const GemmAnalytic model = start_model(h200());
  for (const double m : {33.0, 500.0, 4096.0}) {
    const GemmShape shape{m, 1536, 2048, 1};
    const GemmTime fastest = model.predict(shape);
    const GemmKernel own{static_cast<double>(fastest.tile_m), static_cast<double>(fastest.tile_n),
                         static_cast<double>(fastest.splits)};
    EXPECT_DOUBLE_EQ(model.predict(shape, own).time_us, fastest.time_us);
    EXPECT_GE(model.predict(shape, {256, 128, 1}).time_us, fastest.time_us);
  }
}

TEST(GemmAnalytic, GivesTheSameWithTheChoiceThatItHasMade) {
  for (const char* id : {"h200-sxm-141gb", "a100-sxm4-80gb"}) {
    const GemmAnalytic model = start_model(builtin_machine(id));
    for (const GemmShape& shape : {GemmShape{1, 4096, 4096}, GemmShape{129, 7168, 512},
                                   GemmShape{4096, 51200, 64}, GemmShape{64, 128, 65536}}) {
      const GemmTime best = model.predict(shape);
      EXPECT_DOUBLE_EQ(model.predict_as(shape, best).time_us, best.time_us) << id << shape.m;
    }
  }
}

TEST(GemmAnalytic, SplitsADeepProductOfOneTileFurtherThanSixteenTimes) {
  EXPECT_GT(start_model(h200()).predict({64, 128, 65536, 1}).splits, 16);
}

// A tile's side is any multiple of 8, so 129 rows fit into 136, and 257 into twice 136.
TEST(GemmAnalytic, AnExtraRowCostsLessThanAWiderTile) {
  const GemmAnalytic model = start_model(h200());
  for (const double m : {129.0, 257.0}) {
    const GemmTime best = model.predict({m, 16384, 4096, 1});
    EXPECT_LT(best.time_us, 1.1 * model.predict({m - 1, 16384, 4096, 1}).time_us) << m;
    for (const double side : {128., 160., 192., 256.})
      EXPECT_LT(best.time_us, model.predict({m, 16384, 4096, 1}, {side, 128, 1}).time_us) << m;
  }
}

TEST(GemmAnalytic, AnEpilogueIsHiddenBehindTheNextBlock) {
  const auto types = *gemm_types("bf16");
  const auto time_with = [&](double overlap, const GemmShape& shape) {
    std::vector<double> values;
    for (const ParameterSpec& spec : GemmAnalytic::parameters(false))
      values.push_back(spec.name == "epilogue_overlap" ? overlap : spec.start);
    return GemmAnalytic(gemm_machine(h200(), types), types, false, values)
        .predict(shape, {.tile_m = 128, .tile_n = 256, .splits = 1})
        .compute_us;
  };
  const GemmShape one_wave{1024, 1024, 256}, many_waves{16384, 16384, 256};
  EXPECT_DOUBLE_EQ(time_with(1, one_wave), time_with(8, one_wave));
  EXPECT_GT(time_with(1, many_waves), 1.2 * time_with(8, many_waves));
}

TEST(GemmFeatures, HoldHowTheProductIsComputed) {
  const GemmMachine machine = gemm_machine(h200(), *gemm_types("bf16"));
  GemmTime choice;
  choice.tile_m = 64;
  choice.tile_n = 64;
  choice.splits = 4;
  const GemmShape shape{130, 100, 4096};
  const Eigen::VectorXd features = gemm_features(shape, machine, choice, false, 12);
  const double waves = 3 * 2 * 4 / machine.sm_count;
  EXPECT_DOUBLE_EQ(features[6], 2 * waves);
  EXPECT_DOUBLE_EQ(features[7], 2);
  EXPECT_DOUBLE_EQ(features[8], 1.5 * std::log2(128.0 / 100));
  EXPECT_DOUBLE_EQ(features[9], std::log2(waves));
  EXPECT_DOUBLE_EQ(features[5], std::log2(2 / machine.sm_count));  // tiles of 128 x 256
  EXPECT_DOUBLE_EQ(gemm_features(shape, machine, choice, true, 12)[5], features[9]);
  EXPECT_EQ(features.size(), gemm_feature_count(machine) + 2);
  const GemmMachine coarse = gemm_machine(builtin_machine("a100-sxm4-80gb"), *gemm_types("bf16"));
  EXPECT_EQ(gemm_feature_count(coarse), features.size());  // its tile, too
  EXPECT_DOUBLE_EQ(features[11], 6);
}

TEST(GemmFeatures, EndWithTheStack) {
  const GemmMachine machine = gemm_machine(h200(), *gemm_types("bf16"));
  GemmTime choice;
  choice.tile_m = choice.tile_n = 64;
  const auto of = [&](Eigen::Index stack) {
    return gemm_features({64, 64, 64}, machine, choice, false, 10, {.number = stack, .count = 3});
  };
  EXPECT_EQ(of(2).tail(3), Eigen::Vector3d(0, 1, 0));
  EXPECT_EQ(of(0).tail(3), Eigen::Vector3d::Zero().eval());  // nobody knows
}

TEST(GemmAnalytic, TakesTheTileThatCutlassHasForTheRows) {
  const auto types = *gemm_types("f8e4m3");
  GemmMachine machine = gemm_machine(h200(), types);
  machine.has_tiles_by_rows = true;
  std::vector<double> values;
  for (const ParameterSpec& spec : GemmAnalytic::parameters(true))
    values.push_back(spec.start);
  const GemmAnalytic model(machine, types, true, values);
  const auto tile = [&](double m, double n) {
    const GemmTime time = model.predict({m, n, 8192});
    EXPECT_EQ(time.splits, 1);
    return std::pair(time.tile_m, time.tile_n);
  };
  EXPECT_EQ(tile(1, 4096), std::pair(16, 64));
  EXPECT_EQ(tile(64, 1280), std::pair(16, 64));
  EXPECT_EQ(tile(64, 1281), std::pair(64, 64));
  EXPECT_EQ(tile(128, 64), std::pair(64, 128));
  EXPECT_EQ(tile(4096, 4096), std::pair(128, 128));
}

TEST(GemmAnalytic, LongProductsRunAtALowerClock) {
  const GemmAnalytic model = start_model(h200());
  const GemmShape burst{8192, 8192, 8192, 1}, lasting{8192, 8192, 819200, 1};
  EXPECT_GT(model.predict(lasting).time_us, 105 * model.predict(burst).time_us);
}

// Returns the time of the kernels that turn A into 8 bits, with this gain of L2.
double quantise_us(double gain, double m, double k) {
  const auto types = *gemm_types("f8e4m3");
  std::vector<double> values;
  for (const ParameterSpec& spec : GemmAnalytic::parameters(true))
    values.push_back(spec.name == "quantise_l2_gain" ? gain : spec.start);
  return GemmAnalytic(gemm_machine(h200(), types), types, true, values)
      .predict({m, 256, k, 1})
      .quantise_us;
}

// Half of the L2 of 60 MB holds A of 10 million elements, of which 3 bytes each are moved.
TEST(GemmAnalytic, QuantisingIsFasterWhereAIsInL2) {
  EXPECT_NEAR(quantise_us(2, 65536, 8192), quantise_us(1, 65536, 8192), 1e-3);
  EXPECT_NEAR(quantise_us(2, 1, 64), quantise_us(1, 1, 64), 1e-3);  // the kernels' start alone
  EXPECT_LT(quantise_us(2, 1024, 6144), 0.8 * quantise_us(1, 1024, 6144));
  EXPECT_GT(quantise_us(2, 4096, 6144), 0.95 * quantise_us(1, 4096, 6144));
  for (double m = 64; m <= 65536; m *= 2)
    EXPECT_LT(quantise_us(2, m, 4096), quantise_us(2, 2 * m, 4096)) << m;
}

TEST(GemmAnalytic, QuantisingStartsABlockForEachRow) {
  const double few_us = quantise_us(1, 64, 64), many_us = quantise_us(1, 1 << 20, 64);
  EXPECT_GT(many_us, 100 * few_us);
}

TEST(CalibratedGemm, StartsSoonerOnALaterGeneration) {
  const auto start_us = [](const char* set, const char* machine) {
    const CalibratedGemm gemm(choose_parameters(set, "gemm"), builtin_machine(machine));
    return gemm.predict({1, 32, 64, 1}).analytic.overhead_us;
  };
  constexpr const char* hopper = "gemm_h100-sxm5-80gb_bf16";
  const double own_us = start_us(hopper, "h100-sxm5-80gb");
  EXPECT_NEAR(start_us(hopper, "h200-sxm-141gb"), own_us, 1e-9);
  EXPECT_NEAR(start_us(hopper, "b200-sxm-180gb"), 0.8 * own_us, 1e-9);
  EXPECT_NEAR(start_us(hopper, "a100-sxm4-80gb"), own_us / 0.8, 1e-9);
  // Timed around the host's launch, which is that of no GPU.
  constexpr const char* by_the_host = "gemm_a100-sxm4-40gb_f32";
  EXPECT_NEAR(start_us(by_the_host, "v100-sxm2-16gb"), start_us(by_the_host, "a100-sxm4-40gb"),
              1e-9);
}

TEST(GemmKernel, ReadsTheTileThatTheBlocksBearOut) {
  // 438 columns in tiles of 32: 14; 84 rows: 3.
  const GemmShape shape{84, 438, 190, 1};
  const auto small = gemm_kernel("ampere_sgemm_32x32_sliced1x4_tn", shape, 42);
  ASSERT_TRUE(small);
  EXPECT_EQ(small->tile_m, 32);
  EXPECT_EQ(small->tile_n, 32);
  EXPECT_EQ(small->splits, 1);
  // The first number is along the columns: 4 x 2 blocks; three times as many split k.
  const auto split = gemm_kernel("ampere_sgemm_128x64_tn", shape, 24);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->tile_m, 64);
  EXPECT_EQ(split->tile_n, 128);
  EXPECT_EQ(split->splits, 3);
  // Only the other way round covers C: 2 columns of 256, 3 rows of 32.
  const auto turned = gemm_kernel("cutlass_80_tensorop_bf16_s16816gemm_32x256_32x4", shape, 6);
  ASSERT_TRUE(turned);
  EXPECT_EQ(turned->tile_m, 32);
  EXPECT_EQ(turned->tile_n, 256);
}

TEST(GemmKernel, IsNotKnownWithoutATileOrWithOtherBlocks) {
  const GemmShape shape{8192, 8192, 4096, 1};
  // A block for each multiprocessor, which takes tile after tile.
  EXPECT_FALSE(gemm_kernel("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT", shape, 132));
  EXPECT_TRUE(gemm_kernel("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT", shape, 2048));
  EXPECT_FALSE(gemm_kernel("gemv2T_kernel_val", shape, 2048));
  EXPECT_FALSE(gemm_kernel("my_kernel_4x4_100x7", shape, 2048));
  EXPECT_FALSE(gemm_kernel("", shape, 1));
}

}  // namespace
}  // namespace inline_prof::model
