#include "model/published/seer/golden_files.hpp"
#include "model/published/seer/predictor.hpp"

#include <gtest/gtest.h>

#include <string>

namespace inline_prof::model::seer {
namespace {

constexpr double kTolerance = 1e-12;

class GoldenAlgorithm : public testing::TestWithParam<int> {};

// The whole of an algorithm, and each step of each of its variants.
TEST_P(GoldenAlgorithm, GivesThePublishedTimes) {
  const int number = GetParam();
  const auto algorithm = static_cast<Algorithm>(number);
  const read::Table table = golden_table("seer_algo" + std::to_string(number) + ".csv");
  ASSERT_GT(table.row_count(), 30U);
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    SCOPED_TRACE("line " + std::to_string(table.line(row)));
    const auto expect = [&](const char* column, double value) {
      const auto expected = golden_number(table, row, column);
      ASSERT_TRUE(expected) << column;
      EXPECT_LE(relative_difference(value, *expected), kTolerance)
          << column << " is " << value << ", not " << *expected;
    };
    read::SeerLayer layer = golden_layer(table, row);
    const AlgorithmPrediction p = published_predictor().predict(algorithm, layer);
    ASSERT_TRUE(p.time_ms);
    expect("t_algo", *p.time_ms);
    EXPECT_EQ(static_cast<int>(p.type), *golden_number(table, row, "type_algo"));

    const std::string name = table.cell(row, table.require("variant"));
    const std::size_t variant = find_variant(name);
    if (variant == kNoVariant) continue;  // "algo4_16", "algo5", "unsupported"
    EXPECT_EQ(p.variant == variant, *golden_number(table, row, "selected") != 0) << name;
    if (algorithm == Algorithm::kImplicitPrecompGemm) {
      layer.out_channels = std::max<std::int64_t>(layer.out_channels, 32);
    }
    const BlockPrediction main = published_predictor().main_kernel(
        variant, layer, launched_blocks(kVariants[variant], layer, Edition::kPublished));
    expect("block_max", main.resident_blocks);
    expect("block_launch", main.blocks);
    expect("waves", main.waves);
    expect("tail_eps", main.tail);
    expect("kernel_type", static_cast<int>(main.type));
    expect("inst_fp_blk", main.instructions);
    expect("dram_read_ratio", main.read_ratio);
    expect("dram_read_blk", main.reads);
    expect("dram_write_blk", main.writes);
    expect("t_compute", *main.compute_ms);
    expect("t_dram", *main.dram_ms);
    expect("t_resource", *main.resource_ms);
    // A fused Winograd that cannot be computed has a time that stands for that.
    const bool is_sentinel = *golden_number(table, row, "t_main") == kNoWinogradMs;
    if (is_sentinel) continue;
    expect("t_main", main.main_ms);
    expect("t_pre", published_predictor().helpers_ms(variant, layer));
  }
}

INSTANTIATE_TEST_SUITE_P(All, GoldenAlgorithm, testing::Values(0, 1, 2, 4, 5, 6, 7));

}  // namespace
}  // namespace inline_prof::model::seer
