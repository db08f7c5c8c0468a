#pragma once

#include "model/calibrated/matern_process.hpp"

#include <Eigen/Core>

#include <vector>

namespace inline_prof::fit {

// What is assumed of the scales before the data speak: normal in their logarithms.
struct MaternPrior {
  double length = 2.0, length_variance = 1.0;
  double signal = 0.08, signal_variance = 0.3;
  double noise = 0.02, noise_variance = 0.1;
};

// The scales under which `targets` are most probable (C. E. Rasmussen, C. K. I. Williams, "Gaussian
// Processes for Machine Learning", 2006, equations 5.8 and 5.9), found by BFGS from the prior's
// centre and from lengths half and twice as long.  Uses the first 250 points at most: the cost
// grows with their cube.
[[nodiscard]] model::MaternScales fit_matern_scales(const Eigen::MatrixXd& features,
                                                    const Eigen::VectorXd& targets,
                                                    const Eigen::VectorXd& noise_factors,
                                                    const MaternPrior& prior = {});

// A process of a few points that stands for one of many.
struct InducedProcess {
  std::vector<Eigen::Index> points;  // rows of the features, the most telling ones first
  // What a MaternProcess of these points has to be given, so that its mean is that of all rows.
  Eigen::VectorXd targets;
  Eigen::VectorXd noise_factors;
};

// The points are rows that the points before them say least about (pivoted Cholesky decomposition:
// D. R. Burt, C. E. Rasmussen, M. van der Wilk, "Convergence of Sparse Variational Inference in
// Gaussian Processes Regression", JMLR 21, 2020, section 4.2.2); their targets are such that the
// mean is the one which all rows give through these points (M. Titsias, "Variational Learning of
// Inducing Variables in Sparse Gaussian Processes", AISTATS 2009, equation 6).  With no more than
// `most` rows every row is a point and keeps its target.
[[nodiscard]] InducedProcess induce(const model::MaternScales& scales,
                                    const Eigen::MatrixXd& features, const Eigen::VectorXd& targets,
                                    const Eigen::VectorXd& noise_factors, Eigen::Index most);

// How much less a point counts whose target is wild: 1 up to `usual`, then growing with the square,
// so that one kernel which the library chose badly does not bend its neighbours.
[[nodiscard]] Eigen::VectorXd noise_factors_of(const Eigen::VectorXd& targets, double usual);

}  // namespace inline_prof::fit
