// What the fits of all improved models do once their rows are read: fit, calibrate, write, say.
#pragma once

#include "fit/analytic_fit.hpp"
#include "fit/calibration_fit.hpp"
#include "fit/fits.hpp"
#include "read/parameters.hpp"

#include <Eigen/Core>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace inline_prof::fit {

struct CalibratedProblem {
  std::vector<model::ParameterSpec> specs;
  AnalyticFit::LogTimes log_times;
  AnalyticFit::LogTimesNear log_times_near;  // may be empty
  Eigen::VectorXd log_measured;
  Eigen::MatrixXd features;  // a row for each measurement
  // Takes its place where features depend on the parameters, too.
  std::function<Eigen::MatrixXd(std::span<const double> values)> features_with;
  std::vector<model::RawPoint> points;  // what the features come from, for the parameter file
  std::vector<std::vector<Eigen::Index>> folds;
  std::optional<std::size_t> longest_fold;  // CalibrationInput::longest_fold
  // What bounds each row, with these parameters: only for a model whose rows' errors differ by that
  // more than by where they lie.
  std::function<std::vector<std::string>(std::span<const double> values)> regimes;
  int restarts = 2;
  Eigen::Index most_points = kMostPoints;  // of the residual process
};

// Fills in parameters, covariance, residual and conformal of `parameters`, and gives the words of
// FitResult::summary.
[[nodiscard]] std::string fit_calibrated(const CalibratedProblem& problem,
                                         const FitRequest& request, read::Parameters& parameters);

}  // namespace inline_prof::fit
