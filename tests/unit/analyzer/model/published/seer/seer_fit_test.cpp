#include "model/published/seer/seer_fit.hpp"

#include "model/published/seer/golden_files.hpp"
#include "testing.hpp"

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
