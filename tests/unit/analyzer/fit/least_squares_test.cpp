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

}  // namespace
}  // namespace inline_prof::fit
