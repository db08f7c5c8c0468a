#include "model/published/seer/predictor.hpp"

#include "model/published/seer/golden_files.hpp"
#include "testing.hpp"

namespace inline_prof::model::seer {
namespace {

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
