// Three ways to least squares: robust with priors, as every model of ours is fitted; as SciPy does
// it, for the published curves; and of relative errors, for models that are linear in their
// coefficients.
#pragma once

#include <Eigen/Core>

#include <functional>
#include <span>
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
  double tolerance = 1e-10;  // relative gain in cost below which the search ends
};

struct LeastSquaresResult {
  Eigen::VectorXd theta;
  double cost = 0.0;  // half the sum above
  int iterations = 0;
  Eigen::MatrixXd covariance;  // (J' W J)^-1 * residual variance, W the robust weights
};

// Levenberg-Marquardt with reweighting (J. Nocedal, S. Wright, "Numerical Optimization", 2006,
// section 10.3) and forward differences.  Deterministic.  Throws std::invalid_argument for sizes
// that do not agree, std::runtime_error if the residuals at the start are not finite.
[[nodiscard]] LeastSquaresResult solve_least_squares(const LeastSquaresProblem& problem,
                                                     const Eigen::VectorXd& start,
                                                     const LeastSquaresOptions& options = {});

// Residuals of a parameter vector, all of one length.
using Residuals = std::function<Eigen::VectorXd(const Eigen::VectorXd&)>;

struct DogboxResult {
  Eigen::VectorXd x;
  double sum_of_squares = 0.0;
  int evaluations = 0;     // of the residuals, without those for the Jacobian
  bool converged = false;  // false: 100 evaluations for each parameter were not enough
};

// Minimises the sum of squared residuals with dogleg steps in a rectangular trust region, a forward
// difference Jacobian and tolerances of 1e-8 on cost, step and gradient, as there.
//
// Source: C. Voglis, I. E. Lagaris, "A Rectangular Trust Region Dogleg Approach for Unconstrained
// and Bound Constrained Nonlinear Optimization", WSEAS 2004; the choice of radius, steps and stops
// is that of SciPy 1.10, scipy.optimize.least_squares.
//
// Throws std::invalid_argument if the residuals of `start` are not finite.
[[nodiscard]] DogboxResult minimise_dogbox(const Residuals& residuals,
                                           const Eigen::VectorXd& start);

// One measurement of a model that is linear in its coefficients: what they are multiplied with, and
// what came out.
struct LinearSample {
  std::vector<double> terms;
  double value = 0.0;  // greater than 0
};

struct RelativeFit {
  std::vector<double> coefficients;
  double rmspe = 0.0;  // root of the mean square of predicted / measured - 1, on these samples
};

// Returns the coefficients that minimise the sum of (predicted / measured - 1)^2: each row is
// divided by its value, the columns are scaled to the same length, and one QR decomposition with
// pivoting gives the minimum.  A direction that the samples say nothing about gets 0.
//
// Throws std::invalid_argument for no samples, a value that is not greater than 0, or rows of
// different length.
[[nodiscard]] RelativeFit fit_relative(std::span<const LinearSample> samples);

}  // namespace inline_prof::fit
