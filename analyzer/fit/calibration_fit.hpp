// The part of a fit that is the same for all calibrated models: residual process, conformal table,
// and the errors that a fit has where it had no data.
#pragma once

#include "model/calibrated/calibration.hpp"
#include "model/calibrated/calibration_json.hpp"

#include <Eigen/Core>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::fit {

// The prior of the scales: normal in their logarithms.
struct MaternPrior {
  double length = 2.0, length_variance = 1.0;
  double signal = 0.08, signal_variance = 0.3;
  double noise = 0.02, noise_variance = 0.1;
};

// Returns the scales under which `targets` are most probable (C. E. Rasmussen, C. K. I. Williams,
// "Gaussian Processes for Machine Learning", 2006, equations 5.8 and 5.9), found by BFGS from the
// prior's centre and from lengths half and twice as long.  Uses 400 points at most: the cost grows
// with their cube.
[[nodiscard]] model::MaternScales fit_matern_scales(const Eigen::MatrixXd& features,
                                                    const Eigen::VectorXd& targets,
                                                    const Eigen::VectorXd& noise_factors,
                                                    const MaternPrior& prior = {});

// A process of a few points that stands for one of many.
struct InducedProcess {
  std::vector<Eigen::Index> points;  // rows of the features, the most telling ones first
  // The targets of a MaternProcess of these points whose mean is that of all rows.
  Eigen::VectorXd targets;
  Eigen::VectorXd noise_factors;
};

// Chooses points of which the points before them say least (pivoted Cholesky
// decomposition: D. R. Burt, C. E. Rasmussen, M. van der Wilk, "Convergence of Sparse Variational
// Inference in Gaussian Processes Regression", JMLR 21, 2020, section 4.2.2); their targets are
// such that the mean is the one which all rows give through these points (M. Titsias, "Variational
// Learning of Inducing Variables in Sparse Gaussian Processes", AISTATS 2009, equation 6).  With no
// more than `most` rows every row is a point and keeps its target.
[[nodiscard]] InducedProcess induce(const model::MaternScales& scales,
                                    const Eigen::MatrixXd& features, const Eigen::VectorXd& targets,
                                    const Eigen::VectorXd& noise_factors, Eigen::Index most);

// Returns how much less a point counts whose target is wild: 1 up to `usual`, then growing with the
// square, so that one kernel which the library chose badly does not bend its neighbours.
[[nodiscard]] Eigen::VectorXd noise_factors_of(const Eigen::VectorXd& targets, double usual);

// A prediction looks at every point of the process, and a parameter file holds them: 400 points of
// 3000 rows predict as well as a process of 1000 rows does.
inline constexpr Eigen::Index kMostPoints = 400;

// Measured rows, in logarithms, and the analytic model fitted to all of them.
struct CalibrationInput {
  Eigen::MatrixXd features;      // a row for each measurement
  Eigen::VectorXd log_measured;  // ln(us)
  Eigen::VectorXd log_analytic;
  // The regime of each row, if rows of one regime are to be judged by each other; else empty.
  std::vector<std::string> regimes;
  // Groups of rows that are held out together; a row may be in several.
  std::vector<std::vector<Eigen::Index>> folds;
  // Which of them are the longest rows, if one is: what is longer than all rows is judged by it.
  std::optional<std::size_t> longest_fold;
  // The rows of each software stack, if stacks are to be judged by each other; and how each row is
  // described by somebody who knows the other stacks alone.
  std::vector<std::vector<Eigen::Index>> stacks;
  Eigen::MatrixXd features_elsewhere;
  Eigen::VectorXd log_analytic_elsewhere;
  // ln(analytic time) of every row, with the model fitted to the rows of `training` only.
  std::function<Eigen::VectorXd(const std::vector<Eigen::Index>& training)> refit;
  Eigen::Index most_points = kMostPoints;  // of the process
};

struct CalibrationResult {
  model::MaternScales scales;
  // The rows that the process is made of: all of them, or some that stand for all.
  std::vector<Eigen::Index> points;
  Eigen::VectorXd targets;  // at these, of ln(measured / analytic)
  Eigen::VectorXd noise_factors;
  model::LocalScale scale;
  model::ConformalTable table;
  double in_sample_mape = 0;  // fractions
  double held_out_mape = 0;
  double held_out_coverage = 0;  // of the 90 % interval, over the rows that the table comes from
  double median_half_width = 0;
  std::vector<double> stack_mapes;  // of CalibrationInput::stacks, with groups held out
  // With whole stacks held out; 0 if there are none.
  double other_stack_mape = 0, other_stack_half_width = 0;
};

// Needs at least kLeastCalibrationRows rows.
[[nodiscard]] CalibrationResult fit_calibration(const CalibrationInput& input);

inline constexpr Eigen::Index kLeastCalibrationRows = 12;

// Every row whose key is one of a class of keys is in one fold: the distinct keys are dealt out to
// `count` folds in turn, in their order, so that each fold has small and large ones.
[[nodiscard]] std::vector<std::vector<Eigen::Index>> folds_by_key(const Eigen::VectorXd& keys,
                                                                  Eigen::Index count);

}  // namespace inline_prof::fit
