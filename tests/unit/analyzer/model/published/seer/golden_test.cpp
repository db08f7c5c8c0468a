#include "model/published/seer/golden_files.hpp"
#include "model/published/seer/predictor.hpp"
#include "testing.hpp"

namespace inline_prof::model::seer {
namespace {

const fit::SeerFit& golden_fit() {
  static const fit::SeerFit fit = fit::fit_seer(golden_training(), {.keeps_sparse_types = true});
  return fit;
}

TEST(GoldenFit, HasTheExactLeastSquares) {
  const read::Table table = golden_table("seer_coeffs.csv");
  ASSERT_GT(table.row_count(), 200U);
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    const std::string model = table.cell(row, table.require("model"));
    const std::string kind = table.cell(row, table.require("kind"));
    const auto place = static_cast<std::size_t>(table.cell(row, table.require("coef"))[0] - 'a');
    const auto* found = golden_fit().parameters.find(model, kind);
    ASSERT_NE(found, nullptr) << model << ' ' << kind;
    const double value = found->at(place);
    const auto exact = golden_number(table, row, "exact_lls");
    if (exact) {
      EXPECT_LE(relative_difference(value, *exact), 1e-8) << model << ' ' << kind << place;
    }
    // The published fitter stops earlier; where a type has no rows it leaves its start, ones.
    EXPECT_LE(relative_difference(value, *golden_number(table, row, "nlinfit")), exact ? 1e-6 : 0.0)
        << model << ' ' << kind << place;
  }
}

TEST(GoldenFit, CountsTheRowsOfEachSet) {
  const read::Table table = golden_table("seer_coeffs.csv");
  std::map<std::string, std::size_t> rows;
  for (const fit::SeerFitQuality& quality : golden_fit().quality)
    rows[quality.model + ' ' + quality.kind] = quality.rows;
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    const std::string key =
        table.cell(row, table.require("model")) + ' ' + table.cell(row, table.require("kind"));
    EXPECT_EQ(static_cast<double>(rows.at(key)), *golden_number(table, row, "n_train")) << key;
  }
}

TEST(GoldenFit, HasIdenticalTrees) {
  const auto& expected = golden_parameters().trees;
  ASSERT_EQ(expected.size(), 55U);
  for (const auto& [name, tree] : expected) {
    const Tree& found = golden_fit().parameters.need_tree(name);
    ASSERT_EQ(found.nodes.size(), tree.nodes.size()) << name;
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
      const TreeNode& a = found.nodes[i];
      const TreeNode& b = tree.nodes[i];
      EXPECT_TRUE(a.feature == b.feature && a.threshold == b.threshold && a.left == b.left &&
                  a.right == b.right && a.row_count == b.row_count)
          << name << ", node " << i;
      EXPECT_LE(relative_difference(a.value, b.value), 1e-12) << name << ", node " << i;
    }
  }
}

constexpr double kTolerance = 1e-12;

class GoldenAlgorithm : public TestWithParam<int> {};

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
    if (algorithm == Algorithm::kImplicitPrecompGemm)
      layer.out_channels = std::max<std::int64_t>(layer.out_channels, 32);
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

INSTANTIATE_TEST_SUITE_P(All, GoldenAlgorithm, Values(0, 1, 2, 4, 5, 6, 7));

}  // namespace
}  // namespace inline_prof::model::seer
