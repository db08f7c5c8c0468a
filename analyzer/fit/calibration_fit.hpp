// The part of a fit that is the same for all improved models: residual process, conformal table,
// and the errors that a fit has where it had no data.
#pragma once

#include "model/calibrated/calibration_json.hpp"
#include "model/calibrated/conformal.hpp"
#include "model/calibrated/matern_process.hpp"

#include <Eigen/Core>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::fit {

// A prediction looks at every point of the process, and a parameter file holds them: 400 points of
// 3000 rows predict as well as a process of 1000 rows does.
inline constexpr Eigen::Index kMostPoints = 400;

// Measured rows, in logarithms, and the analytic model fitted to all of them.
struct CalibrationInput {
  Eigen::MatrixXd features;      // a row for each measurement
  Eigen::VectorXd log_measured;  // ln(us)
  Eigen::VectorXd log_analytic;
  // Of each row, where rows of one regime are to be judged by each other; else empty.
  std::vector<std::string> regimes;
  // Groups of rows that are held out together; a row may be in several.
  std::vector<std::vector<Eigen::Index>> folds;
  // Which of them are the longest rows, if one is: what is longer than all rows is judged by it.
  std::optional<std::size_t> longest_fold;
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
};

// Needs at least kLeastCalibrationRows rows.
[[nodiscard]] CalibrationResult fit_calibration(const CalibrationInput& input);

inline constexpr Eigen::Index kLeastCalibrationRows = 12;

// Every row whose key is one of a class of keys is in one fold: the distinct keys are dealt out to
// `count` folds in turn, in their order, so that each fold has small and large ones.
[[nodiscard]] std::vector<std::vector<Eigen::Index>> folds_by_key(const Eigen::VectorXd& keys,
                                                                  Eigen::Index count);

}  // namespace inline_prof::fit
