// Robust least squares with priors: how the parameters of every model are fitted.
#pragma once

#include <Eigen/Core>

#include <functional>
#include <string>
#include <vector>

namespace inline_prof::fit {

// Finds theta that minimises
//
//   sum_i scale^2 * rho((r_i(theta) / scale)^2) + sum_j (weight_j * (theta_j - centre_j))^2,
//   rho(z) = 2 * (sqrt(1 + z) - 1)
//
// within lower <= theta <= upper.  rho ("soft L1") counts small residuals as squares and large ones
// by their size, so that a few wild rows do not turn the fit: J. T. Barron, "A General and Adaptive
// Robust Loss Function", CVPR 2019, alpha = 1.
struct LeastSquaresProblem {
  // Writes the residuals of theta into its second argument, which has residual_count entries.
  using Residuals = std::function<void(const Eigen::VectorXd&, Eigen::Ref<Eigen::VectorXd>)>;
  Residuals residuals;
  // For a model that takes the best of many choices: the residuals with the choices made at this
  // theta, for the derivatives there.  If absent, `residuals` is used.
  std::function<Residuals(const Eigen::VectorXd&)> residuals_near;
  Eigen::Index residual_count = 0;
  Eigen::VectorXd centre;  // of the prior, and where the search starts if no other start is given
  Eigen::VectorXd weight;  // of the prior; 0 leaves a parameter to the data
  Eigen::VectorXd lower;
  Eigen::VectorXd upper;
  double scale = 0.05;  // of a residual from which it counts by its size
};

struct LeastSquaresOptions {
  int max_iterations = 60;
  double tolerance = 1e-6;  // relative gain in cost below which the search ends
};

struct LeastSquaresResult {
  Eigen::VectorXd theta;
  double cost = 0.0;  // half the sum above
  int iterations = 0;
  Eigen::MatrixXd covariance;  // (J' W J)^-1 * residual variance, W the robust weights
  double condition = 0.0;      // of the scaled J' W J: above 1e12 some direction has no data
};

// Levenberg-Marquardt with reweighting (J. Nocedal, S. Wright, "Numerical Optimization", 2006,
// section 10.3) and forward differences.  Deterministic.  Throws std::invalid_argument for sizes
// that do not agree, std::runtime_error if the residuals at the start are not finite.
[[nodiscard]] LeastSquaresResult solve_least_squares(const LeastSquaresProblem& problem,
                                                     const Eigen::VectorXd& start,
                                                     const LeastSquaresOptions& options = {});

}  // namespace inline_prof::fit
