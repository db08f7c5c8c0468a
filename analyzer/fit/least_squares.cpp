#include "fit/least_squares.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace inline_prof::fit {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// The step of a forward difference in log space: far above rounding (1e-16 / 1e-6), far below the
// distance over which the models bend.
constexpr double kDifference = 1e-6;

double robust_cost(const LeastSquaresProblem& problem, const VectorXd& theta, const VectorXd& r) {
  const double scale2 = problem.scale * problem.scale;
  double sum = 0.0;
  for (Index i = 0; i < r.size(); ++i) {
    sum += scale2 * (std::sqrt(1.0 + r[i] * r[i] / scale2) - 1.0);
  }
  const VectorXd pull = problem.weight.cwiseProduct(theta - problem.centre);
  return sum + 0.5 * pull.squaredNorm();
}

struct NormalEquations {
  MatrixXd hessian;  // J' W J + prior
  VectorXd gradient;
  MatrixXd data_hessian;
};

NormalEquations linearise(const LeastSquaresProblem& problem, const VectorXd& theta,
                          const VectorXd& r) {
  const Index parameters = theta.size();
  MatrixXd jacobian(problem.residual_count, parameters);
  VectorXd moved_r(problem.residual_count);
  VectorXd moved = theta;
  const auto residuals = problem.residuals_near ? problem.residuals_near(theta) : problem.residuals;
  for (Index j = 0; j < parameters; ++j) {
    double step = kDifference * std::max(1.0, std::abs(theta[j]));
    if (theta[j] + step > problem.upper[j]) step = -step;
    moved[j] = theta[j] + step;
    residuals(moved, moved_r);
    jacobian.col(j) = (moved_r - r) / step;
    moved[j] = theta[j];
  }
  const double scale2 = problem.scale * problem.scale;
  const VectorXd weights = (1.0 + r.array().square() / scale2).rsqrt().matrix();
  const MatrixXd weighted = weights.asDiagonal() * jacobian;
  NormalEquations equations;
  equations.data_hessian = jacobian.transpose() * weighted;
  equations.hessian = equations.data_hessian;
  equations.hessian.diagonal() += problem.weight.cwiseAbs2();
  equations.gradient =
      weighted.transpose() * r + problem.weight.cwiseAbs2().cwiseProduct(theta - problem.centre);
  return equations;
}

void check_sizes(const LeastSquaresProblem& problem, const VectorXd& start) {
  const Index parameters = start.size();
  if (!problem.residuals || problem.residual_count < 1 || parameters < 1 ||
      problem.centre.size() != parameters || problem.weight.size() != parameters ||
      problem.lower.size() != parameters || problem.upper.size() != parameters) {
    throw std::invalid_argument("least squares: sizes of start, prior and bounds differ");
  }
}

void describe_solution(const LeastSquaresProblem& problem, const VectorXd& r,
                       const NormalEquations& equations, LeastSquaresResult& result) {
  const VectorXd diagonal = equations.hessian.diagonal().cwiseMax(1e-300).cwiseSqrt();
  const VectorXd inverse = diagonal.cwiseInverse();
  const MatrixXd scaled = inverse.asDiagonal() * equations.hessian * inverse.asDiagonal();
  const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(scaled);
  const VectorXd values = eigen.eigenvalues().cwiseMax(1e-15);
  result.condition = values.maxCoeff() / values.minCoeff();
  const MatrixXd inverted =
      eigen.eigenvectors() * values.cwiseInverse().asDiagonal() * eigen.eigenvectors().transpose();
  const double freedom =
      std::max(1.0, static_cast<double>(problem.residual_count - result.theta.size()));
  // The robust cost stands in for the sum of squares, so that wild rows do not widen everything.
  const double scale2 = problem.scale * problem.scale;
  const double squares = (2.0 * scale2 * ((1.0 + r.array().square() / scale2).sqrt() - 1.0)).sum();
  result.covariance =
      (inverse.asDiagonal() * inverted * inverse.asDiagonal()) * (squares / freedom);
}

}  // namespace

LeastSquaresResult solve_least_squares(const LeastSquaresProblem& problem, const VectorXd& start,
                                       const LeastSquaresOptions& options) {
  check_sizes(problem, start);
  LeastSquaresResult result;
  result.theta = start.cwiseMax(problem.lower).cwiseMin(problem.upper);
  VectorXd r(problem.residual_count);
  problem.residuals(result.theta, r);
  if (!r.allFinite())
    throw std::runtime_error("least squares: a residual at the start is not finite");
  result.cost = robust_cost(problem, result.theta, r);

  double damping = 1e-2;
  VectorXd trial_r(problem.residual_count);
  NormalEquations equations = linearise(problem, result.theta, r);
  while (result.iterations < options.max_iterations) {
    ++result.iterations;
    MatrixXd damped = equations.hessian;
    damped.diagonal() += damping * equations.hessian.diagonal().cwiseMax(1e-12);
    const VectorXd step = damped.ldlt().solve(equations.gradient);
    const VectorXd trial = (result.theta - step).cwiseMax(problem.lower).cwiseMin(problem.upper);
    problem.residuals(trial, trial_r);
    const double cost =
        trial_r.allFinite() ? robust_cost(problem, trial, trial_r) : result.cost * 2.0 + 1.0;
    if (cost < result.cost) {
      const double gain = (result.cost - cost) / std::max(result.cost, 1e-300);
      result.theta = trial;
      result.cost = cost;
      r = trial_r;
      equations = linearise(problem, result.theta, r);
      damping = std::max(damping * 0.3, 1e-9);
      if (gain < options.tolerance) break;
    } else {
      damping *= 4.0;
      if (damping > 1e8) break;
    }
  }
  describe_solution(problem, r, equations, result);
  return result;
}

}  // namespace inline_prof::fit
