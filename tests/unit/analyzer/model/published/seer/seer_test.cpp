// Against the results of the published program on synthetic tables
// (tests/data/golden/seer/README.md).
#include "model/published/seer/parameters.hpp"
#include "model/published/seer/predictor.hpp"
#include "model/published/seer/seer_fit.hpp"
#include "read/table.hpp"
#include "testing.hpp"

namespace inline_prof::model::seer {
namespace {

const std::filesystem::path kGolden =
    std::filesystem::path(INLINE_PROF_TEST_DATA) / "golden" / "seer";

read::Table golden_table(const std::string& name) {
  return read::read_table(kGolden / name);
}

// The published program's own parameters.
const Parameters& golden_parameters() {
  static const Parameters parameters = read_seer_parameters(kGolden / "seer_coeffs.csv");
  return parameters;
}

const Predictor& published_predictor() {
  static const Predictor predictor(golden_parameters(), Edition::kPublished);
  return predictor;
}

// A number of a golden file; none where it has "nan" or nothing.
std::optional<double> golden_number(const read::Table& table, std::size_t row,
                                    const std::string& column) {
  const std::string text = table.cell(row, table.require(column));
  if (text.empty() || text == "nan") return std::nullopt;
  return std::stod(text);
}

// The layer of a row, from the column of the batch on.
read::SeerLayer golden_layer(const read::Table& table, std::size_t row) {
  const std::size_t first = table.require("batch");
  std::int64_t value[8] = {};
  for (std::size_t i = 0; i < 8; ++i) {
    const std::string text = table.cell(row, first + i);
    if (text != "nan") value[i] = std::stoll(text);
  }
  return {value[0], value[1], value[2], value[3], value[4], value[5], value[6], value[7]};
}

// All tables of the golden half that is for training.
fit::SeerTables golden_training() {
  fit::SeerTables tables;
  for (const auto& entry : std::filesystem::directory_iterator(kGolden / "seer_data")) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("Other-ops-") || name.ends_with(".train.csv"))
      fit::add_seer_table(tables, read::read_table(entry.path()), model_of_file(entry.path()));
  }
  return tables;
}

double relative_difference(double value, double expected) {
  return value == expected ? 0.0 : std::abs(value - expected) / std::abs(expected);
}

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

// A 3x3 filter over 56x56 images, 64 to 128 channels.
constexpr read::SeerLayer kLayer = {128, 64, 56, 128, 56, 3, 1, 1};

const Predictor& corrected_predictor() {
  static const Predictor predictor(golden_parameters(), Edition::kCalibrated);
  return predictor;
}

TEST(SeerBlocks, OfTheWideNonfusedTileAreCountedTwiceByThePublishedProgram) {
  const Variant& wide = kVariants[find_variant("algo7_128x128_3x3")];
  EXPECT_EQ(launched_blocks(wide, kLayer, Edition::kPublished),
            2 * launched_blocks(wide, kLayer, Edition::kCalibrated));
}

TEST(SeerBlocks, OfTheFusedWinogradCoverTheOutput) {
  // Without padding the output is 54 wide; the published program still tiles the input's 56.
  const read::SeerLayer unpadded = {128, 64, 56, 128, 54, 3, 1, 0};
  const Variant& variant = kVariants[find_variant("algo6_148")];
  EXPECT_EQ(launched_blocks(variant, unpadded, Edition::kPublished), 128.0 * 7 * 4 * 4);
  EXPECT_EQ(launched_blocks(variant, unpadded, Edition::kCalibrated), 128.0 * 7 * 4 * 4);
  const read::SeerLayer narrow = {128, 64, 10, 128, 8, 3, 1, 0};
  EXPECT_EQ(launched_blocks(variant, narrow, Edition::kPublished), 128.0 * 2 * 1 * 4);
  EXPECT_EQ(launched_blocks(variant, narrow, Edition::kCalibrated), 128.0 * 1 * 1 * 4);
}

TEST(SeerRules, SayWhatCannotBeComputedInsteadOfATime) {
  read::SeerLayer strided = kLayer;
  strided.stride = 2;
  strided.out_width = 28;
  for (const Algorithm algorithm : {Algorithm::kDirect, Algorithm::kFft, Algorithm::kFftTiling,
                                    Algorithm::kWinograd, Algorithm::kWinogradNonfused}) {
    const AlgorithmPrediction ours = corrected_predictor().predict(algorithm, strided);
    EXPECT_FALSE(ours.time_ms) << index_of(algorithm);
    EXPECT_NE(ours.reason, "") << index_of(algorithm);
    const AlgorithmPrediction published = published_predictor().predict(algorithm, strided);
    ASSERT_TRUE(published.time_ms);
    EXPECT_GE(*published.time_ms, kNoFftMs) << index_of(algorithm);
  }
}

TEST(SeerRules, KeepFftsToTheBatchTheyWereFittedOn) {
  read::SeerLayer small = kLayer;
  small.batch = 1;
  EXPECT_FALSE(corrected_predictor().predict(Algorithm::kFft, small).time_ms);
  EXPECT_TRUE(published_predictor().predict(Algorithm::kFft, small).time_ms);
}

TEST(SeerPick, NeverPicksWhatCannotRun) {
  read::SeerLayer strided = kLayer;
  strided.stride = 2;
  strided.out_width = 28;
  const Pick pick = corrected_predictor().pick(strided);
  ASSERT_TRUE(pick.best);
  EXPECT_LE(*pick.best, 2U);
}

TEST(SeerTitanV, HasNeitherHelpersNorTheWidestGemms) {
  const Predictor titan_v(golden_parameters(), Edition::kPublished,
                          {.sm_count = 80, .is_titan_v = true});
  const AlgorithmPrediction winograd = titan_v.predict(Algorithm::kWinogradNonfused, kLayer);
  EXPECT_EQ(winograd.helpers_ms, 0.0);
  EXPECT_GT(published_predictor().predict(Algorithm::kWinogradNonfused, kLayer).helpers_ms, 0.0);
  EXPECT_EQ(kVariants[titan_v.predict(Algorithm::kWinograd, kLayer).variant].name, "algo6_148");
  // The golden tree picks 128x128 for this layer.
  const read::SeerLayer first = {128, 3, 224, 64, 224, 3, 1, 1};
  const auto on_xp = published_predictor().predict(Algorithm::kImplicitGemm, first);
  ASSERT_EQ(kVariants[on_xp.variant].name, "algo0_128x128");
  EXPECT_EQ(titan_v.predict(Algorithm::kImplicitGemm, first).time_ms, kNoFftMs);
}

TEST(SeerTitanV, KeepsTheTitanXpsBlocksInThePublishedProgramOnly) {
  const GpuChoice gpu{.sm_count = 80, .is_titan_v = true};
  const std::size_t variant = find_variant("algo1_128x64");
  const auto resident = [&](Edition edition) {
    return Predictor(golden_parameters(), edition, gpu)
        .main_kernel(variant, kLayer, 100)
        .resident_blocks;
  };
  EXPECT_EQ(resident(Edition::kPublished), 4 * 30);
  EXPECT_EQ(resident(Edition::kCalibrated), 4 * 80);
}

TEST(SeerParameters, ThatLackAnAlgorithmAreNamedWhenItIsAskedFor) {
  const Parameters nothing;
  const Predictor predictor(nothing, Edition::kPublished);
  try {
    static_cast<void>(predictor.predict(Algorithm::kImplicitGemm, kLayer));
    FAIL() << "no complaint";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "no tree ctree_kernel_algo0");
  }
}

TEST(SeerOperators, RoundNarrowOutputsUpToTiles) {
  read::SeerLayer layer = {1, 16, 4, 33, 4, 1, 1, 0};
  const auto narrow = linear_terms("conv_1x1_less128", layer);
  EXPECT_EQ(narrow[1], 16.0 * 64);  // out: 4 x 4 of 64 channels
  EXPECT_EQ(linear_terms("conv_1x1_larger128", layer)[0], 16.0 * 33 * 16);
}
}  // namespace
}  // namespace inline_prof::model::seer

namespace inline_prof::fit {
namespace {

namespace seer = model::seer;

TEST(RelativeFit, SurvivesColumnsThatSayTheSame) {
  const RelativeFit fit =
      fit_relative(std::vector<LinearSample>{{{1, 2, 0}, 4}, {{2, 4, 0}, 8}, {{3, 6, 0}, 12}});
  EXPECT_LT(fit.rmspe, 1e-12);
  for (const double coefficient : fit.coefficients)
    EXPECT_TRUE(std::isfinite(coefficient));
}

TEST(RelativeFit, RefusesWhatHasNoRelativeError) {
  EXPECT_THROW(static_cast<void>(fit_relative({})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(fit_relative(std::vector<LinearSample>{{{1}, 0}})),
               std::invalid_argument);
}

TEST(SeerTree, StopsAtItsNumberOfSplits) {
  std::vector<TreeSample> samples;
  samples.reserve(1000);
  for (int i = 0; i < 1000; ++i)
    samples.push_back({{static_cast<double>(i)}, static_cast<double>((i * 7919) % 1000)});
  const seer::Tree tree = fit_tree(samples, TreeKind::kRegression, {.max_splits = 5});
  EXPECT_EQ(tree.nodes.size(), 11U);
}

TEST(SeerFit, GivesATypeWithoutRowsAModelOfAllRows) {
  SeerTables tables;
  tables.variants["algo2_64x128"] =
      seer::golden_training().variants.at("algo2_64x128");  // under-utilised rows only
  const SeerFit fit = fit_seer(tables);
  const auto& found = fit.parameters;
  EXPECT_EQ(found.find("algo2_64x128", "compute"), nullptr);
  EXPECT_NE(found.find("algo2_64x128", "any"), nullptr);
  // A type that a tree may still answer has a time like the others, not one of coefficients 1.
  seer::Parameters compute_bound = found;
  for (seer::TreeNode& node : compute_bound.trees.at("ctree_algo2_64x128").nodes)
    node.value = 0;
  const seer::Predictor predictor(compute_bound, model::Edition::kCalibrated);
  const read::SeerSample& sample = tables.variants.at("algo2_64x128")[10];
  const auto p = predictor.main_kernel(seer::find_variant("algo2_64x128"), sample.layer,
                                       static_cast<double>(sample.blocks));
  EXPECT_EQ(p.type, seer::KernelType::kCompute);
  EXPECT_FALSE(p.compute_ms);
  EXPECT_NEAR(p.main_ms / sample.time_ms, 1.0, 0.5);
}

TEST(SeerFit, RefusesAFileOfNoModel) {
  SeerTables tables;
  EXPECT_THROW(add_seer_table(tables, read::Table("a\n1\n", "algo9.csv"), "algo9"),
               read::InputError);
  EXPECT_THROW(static_cast<void>(fit_seer(tables)), std::invalid_argument);
}

}  // namespace
}  // namespace inline_prof::fit
