#include "model/calibrated/calibration.hpp"

#include "testing.hpp"

namespace inline_prof::model {
namespace {

TEST(ConformalTable, HoldsTheShareThatItIsAskedFor) {
  std::vector<double> scores(99);
  std::iota(scores.begin(), scores.end(), -49.0);  // -49 ... 49
  const ConformalTable table({{ConformalTable::kAll, scores}});
  EXPECT_DOUBLE_EQ(table.range("any", 0.9).lower, -45);  // the 5th smallest of 99
  EXPECT_DOUBLE_EQ(table.range("any", 0.9).upper, 45);
  EXPECT_DOUBLE_EQ(table.share_above("any", 0), 0.51);  // (1 + 50) / 100
  EXPECT_DOUBLE_EQ(table.share_above("any", 40), 0.11);
  EXPECT_DOUBLE_EQ(table.share_below("any", -40), 0.11);
}

TEST(ConformalTable, SaysHowRareAScoreIsThatNoneReached) {
  std::vector<double> scores(99);
  std::iota(scores.begin(), scores.end(), -49.0);
  const ConformalTable table({{ConformalTable::kAll, scores}});
  // The 10 outer ones, from 40 on, lie 4.5 above it on average.
  EXPECT_DOUBLE_EQ(table.share_above("any", 53.5), 0.11 * std::exp(-3));
  EXPECT_DOUBLE_EQ(table.share_below("any", -53.5), 0.11 * std::exp(-3));
  EXPECT_LT(table.share_above("any", 100), 1e-5);
  EXPECT_GT(table.share_above("any", 100), 0);
}

TEST(ConformalTable, OneWildScoreMakesFurtherOnesBelievable) {
  std::vector<double> scores(99);
  std::iota(scores.begin(), scores.end(), -49.0);
  scores.back() = 500;
  const ConformalTable table({{ConformalTable::kAll, scores}});
  EXPECT_GE(table.share_above("any", 500), 0.01);  // one of a hundred was as high
  EXPECT_GT(table.share_above("any", 600), 1e-7);
  EXPECT_LE(table.share_above("any", 600), 0.01);
}

TEST(ConformalTable, CountsWhereThereAreTooFewForATail) {
  const ConformalTable table({{ConformalTable::kAll, {-2, -1, 0, 1, 2}}});
  EXPECT_DOUBLE_EQ(table.share_above("any", 100), 1.0 / 6);
  EXPECT_DOUBLE_EQ(ConformalTable().share_above("any", 100), 1);
}

TEST(ConformalTable, JudgesWhatIsLongerThanAllByTheLongest) {
  const std::vector<double> usual(ConformalTable::kLeastScores, 1.0);
  const std::vector<double> longest(ConformalTable::kLeastScores, 3.0);
  const ConformalTable table({{ConformalTable::kAll, usual}, {ConformalTable::kLonger, longest}},
                             2000);
  EXPECT_DOUBLE_EQ(table.range(table.regime_at(2000, ConformalTable::kAll), 0.9).upper, 1);
  EXPECT_DOUBLE_EQ(table.range(table.regime_at(2001, ConformalTable::kAll), 0.9).upper, 3);
  EXPECT_EQ(ConformalTable().regime_at(1e9, "compute"), "compute");
}

TEST(LocalScale, IsWhatIsUsualNearby) {
  const LocalScale scale(Eigen::Array3d(0.02, 0.02, 0.2));
  const Eigen::Array3d near_the_first(0.1, 0.1, 30), near_the_last(30, 30, 0.1);
  EXPECT_LT(scale.at(near_the_first), 0.05);
  EXPECT_GT(scale.at(near_the_last), 0.1);
  // Far from all of them only their mean is left.
  EXPECT_NEAR(scale.at(Eigen::Array3d(90, 90, 90)), 0.08, 1e-9);
  EXPECT_THROW(LocalScale(Eigen::Array2d(0.1, 0)), std::invalid_argument);
  EXPECT_TRUE(LocalScale().is_empty());
}

TEST(MaternProcess, GoesThroughItsPointsAndForgetsFarAway) {
  const MaternScales scales{Eigen::VectorXd::Constant(1, 1.0), 0.1, 0.001};
  const Eigen::MatrixXd features = Eigen::Vector3d(0, 1, 2);
  const MaternProcess process(scales, features, Eigen::Vector3d(0.1, -0.05, 0.02),
                              Eigen::Vector3d::Ones());
  const Eigen::VectorXd at = Eigen::VectorXd::Constant(1, 1.0);
  const Eigen::VectorXd far = Eigen::VectorXd::Constant(1, 50.0);
  EXPECT_NEAR(process.estimate(at).mean, -0.05, 1e-4);
  EXPECT_NEAR(process.mean(at), process.estimate(at).mean, 1e-12);
  EXPECT_NEAR(process.estimate(far).mean, 0, 1e-12);
  EXPECT_NEAR(process.estimate(far).variance, 0.01, 1e-9);
  EXPECT_NEAR(process.estimate(far).distance, 48, 1e-9);
}

TEST(TransferSigma, GoesByHowFarTheGpuIsFromTheOneThatWasMeasured) {
  const TransferSigmas sigmas{.same_units = 0.1, .from_hopper = 0.2, .before_hopper = 0.4};
  read::Machine blackwell, ampere;
  blackwell.compute_capability = "10.0";
  ampere.compute_capability = "8.0";
  EXPECT_EQ(transfer_sigma(blackwell, false, sigmas), 0.2);
  EXPECT_EQ(transfer_sigma(ampere, false, sigmas), 0.4);
  EXPECT_EQ(transfer_sigma(ampere, true, sigmas), 0.1);
}

}  // namespace
}  // namespace inline_prof::model
