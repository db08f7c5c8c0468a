#include "fit/least_squares.hpp"
#include "testing.hpp"

namespace inline_prof::fit {
namespace {

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
