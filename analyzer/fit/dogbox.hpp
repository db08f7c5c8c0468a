// Least squares as SciPy's curve_fit(method="dogbox") does it without bounds, for the fits of the
// published models: where a curve has fewer points than parameters, or directions in which nothing
// changes, the answer is the one that this path of steps ends at.
#pragma once

#include <Eigen/Core>

#include <functional>

namespace inline_prof::fit {

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

}  // namespace inline_prof::fit
