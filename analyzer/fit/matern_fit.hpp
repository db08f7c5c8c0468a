#pragma once

#include "model/calibrated/matern_process.hpp"

#include <Eigen/Core>

namespace inline_prof::fit {

// What is assumed of the scales before the data speak: normal in their logarithms.
struct MaternPrior {
  double length = 2.0, length_variance = 1.0;
  double signal = 0.08, signal_variance = 0.3;
  double noise = 0.02, noise_variance = 0.1;
};

// The scales under which `targets` are most probable (C. E. Rasmussen, C. K. I. Williams, "Gaussian
// Processes for Machine Learning", 2006, equations 5.8 and 5.9), found by BFGS from the prior's
// centre.  Uses the first 250 points at most: the cost grows with their cube.
[[nodiscard]] model::MaternScales fit_matern_scales(const Eigen::MatrixXd& features,
                                                    const Eigen::VectorXd& targets,
                                                    const Eigen::VectorXd& noise_factors,
                                                    const MaternPrior& prior = {});

// How much less a point counts whose target is wild: 1 up to `usual`, then growing with the square,
// so that one kernel which the library chose badly does not bend its neighbours.
[[nodiscard]] Eigen::VectorXd noise_factors_of(const Eigen::VectorXd& targets, double usual);

}  // namespace inline_prof::fit
