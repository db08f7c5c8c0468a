#include "fit/least_squares.hpp"

#include "testing.hpp"

namespace inline_prof::fit {
namespace {

// y = a * x + b at x = 0 ... n - 1, theta = (a, b).
LeastSquaresProblem line(const Eigen::VectorXd& y) {
  LeastSquaresProblem problem;
  problem.residual_count = y.size();
  problem.centre = Eigen::Vector2d::Zero();
  problem.weight = Eigen::Vector2d::Zero();
  problem.lower = Eigen::Vector2d::Constant(-100);
  problem.upper = Eigen::Vector2d::Constant(100);
  problem.residuals = [y](const Eigen::VectorXd& theta, Eigen::Ref<Eigen::VectorXd> r) {
    for (Eigen::Index i = 0; i < y.size(); ++i)
      r[i] = theta[0] * static_cast<double>(i) + theta[1] - y[i];
  };
  return problem;
}

TEST(SolveLeastSquares, FindsTheLineThroughThePoints) {
  const Eigen::VectorXd y = Eigen::VectorXd::LinSpaced(10, 3, 3 + 9 * 2);
  const auto result = solve_least_squares(line(y), Eigen::Vector2d(0, 0));
  EXPECT_NEAR(result.theta[0], 2, 1e-6);
  EXPECT_NEAR(result.theta[1], 3, 1e-6);
}

TEST(SolveLeastSquares, AWildPointHardlyTurnsTheLine) {
  Eigen::VectorXd y = Eigen::VectorXd::LinSpaced(21, 0, 20);
  y[20] = 120;  // squares alone would give a slope of 2.3
  const auto result = solve_least_squares(line(y), Eigen::Vector2d(0, 0));
  EXPECT_NEAR(result.theta[0], 1, 0.01);
}

TEST(SolveLeastSquares, APriorDecidesWhatTheDataDoNot) {
  auto problem = line(Eigen::VectorXd::Constant(1, 5.0));  // one point at x = 0: nothing about a
  problem.centre = Eigen::Vector2d(7, 0);
  problem.weight = Eigen::Vector2d(0.01, 0);
  const auto result = solve_least_squares(problem, Eigen::Vector2d(1, 1));
  EXPECT_NEAR(result.theta[0], 7, 1e-3);
  EXPECT_NEAR(result.theta[1], 5, 1e-3);
}

TEST(SolveLeastSquares, StaysWithinTheBounds) {
  auto problem = line(Eigen::VectorXd::LinSpaced(10, 0, 18));
  problem.upper[0] = 1.5;
  EXPECT_LE(solve_least_squares(problem, Eigen::Vector2d(0, 0)).theta[0], 1.5);
}

TEST(SolveLeastSquares, RefusesSizesThatDiffer) {
  auto problem = line(Eigen::VectorXd::Zero(3));
  problem.weight = Eigen::VectorXd::Zero(1);
  EXPECT_THROW(static_cast<void>(solve_least_squares(problem, Eigen::Vector2d(0, 0))),
               std::invalid_argument);
}

using Eigen::Vector2d;
using Eigen::VectorXd;

TEST(Dogbox, FindsTheMinimumOfRosenbrocksValley) {
  const auto residuals = [](const VectorXd& x) -> VectorXd {
    return Vector2d(10 * (x[1] - x[0] * x[0]), 1 - x[0]);
  };
  const DogboxResult result = minimise_dogbox(residuals, Vector2d(-1.2, 1.0));
  EXPECT_TRUE(result.converged);
  EXPECT_NEAR(result.x[0], 1.0, 1e-6);
  EXPECT_NEAR(result.x[1], 1.0, 1e-6);
}

TEST(Dogbox, SolvesALinearProblemInOneStepIfTheBoxHoldsIt) {
  const auto residuals = [](const VectorXd& x) -> VectorXd { return Vector2d(x[0] - 3, x[1] - 4); };
  const DogboxResult result = minimise_dogbox(residuals, Vector2d(2.0, 5.0));
  EXPECT_TRUE(result.converged);
  EXPECT_NEAR(result.sum_of_squares, 0.0, 1e-12);
  EXPECT_LE(result.evaluations, 4);
}

// One equation for two unknowns: of all answers the one nearest to the start.
TEST(Dogbox, TakesTheShortestStepWhereThereAreManyAnswers) {
  const auto residuals = [](const VectorXd& x) -> VectorXd {
    return VectorXd::Constant(1, x[0] + x[1] - 4);
  };
  const DogboxResult result = minimise_dogbox(residuals, Vector2d(0.5, 1.5));
  EXPECT_NEAR(result.x[0], 1.5, 1e-6);
  EXPECT_NEAR(result.x[1], 2.5, 1e-6);
}

TEST(Dogbox, TurnsBackWhereTheFunctionEnds) {
  const auto residuals = [](const VectorXd& x) -> VectorXd {
    return VectorXd::Constant(1, std::log(x[0]));  // no number below 0
  };
  const DogboxResult result = minimise_dogbox(residuals, VectorXd::Constant(1, 5.0));
  EXPECT_TRUE(result.converged);
  EXPECT_NEAR(result.x[0], 1.0, 1e-6);
}

TEST(Dogbox, RefusesAStartWithoutAValue) {
  const auto residuals = [](const VectorXd&) -> VectorXd {
    return VectorXd::Constant(1, std::numeric_limits<double>::quiet_NaN());
  };
  EXPECT_THROW(static_cast<void>(minimise_dogbox(residuals, VectorXd::Constant(1, 1.0))),
               std::invalid_argument);
}

}  // namespace
}  // namespace inline_prof::fit
