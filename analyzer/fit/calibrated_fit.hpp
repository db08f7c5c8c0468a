// The steps of every calibrated model's fit once its rows are read: fit the analytic model, whose
// parameters are all greater than 0, calibrate, write, say.
#pragma once

#include "fit/calibration_fit.hpp"
#include "fit/fits.hpp"
#include "fit/least_squares.hpp"
#include "model/calibrated/analytic.hpp"
#include "read/parameters.hpp"

#include <Eigen/Core>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace inline_prof::fit {

// Returns what `make` makes of each row.
template <typename Rows, typename Make>
[[nodiscard]] auto of_each(const Rows& rows, Make&& make) {
  std::vector<decltype(make(*rows.begin()))> all;
  all.reserve(rows.size());
  for (const auto& row : rows)
    all.push_back(make(row));
  return all;
}

// A row's time and bound, as a model says them.
struct RowTime {
  double time_us = 0;
  std::string_view bound = {};
};
// The times of all rows with these parameters.
using RowTimes = std::function<std::vector<RowTime>(std::span<const double> values)>;

struct CalibratedProblem {
  std::vector<model::ParameterSpec> specs;
  RowTimes times;
  // May be empty.  The same with the choices (tiles, algorithms) that are best with these values:
  // with it derivatives of a model that tries many choices cost a hundredth.
  std::function<RowTimes(std::span<const double> values)> times_near;
  std::vector<double> log_measured;
  std::vector<Eigen::VectorXd> features;  // of each measurement
  // Takes its place where features depend on the parameters, too.
  std::function<std::vector<Eigen::VectorXd>(std::span<const double> values)> features_with;
  std::vector<model::RawPoint> points;  // what the features come from, for the parameter file
  std::vector<std::vector<Eigen::Index>> folds;
  std::optional<std::size_t> longest_fold;        // CalibrationInput::longest_fold
  std::vector<std::vector<Eigen::Index>> stacks;  // CalibrationInput::stacks; a feature for each
  std::vector<std::string> stack_names;
  // True for a model whose rows' errors differ by their bound more than by where they lie.
  bool has_regimes = false;
  int restarts = 2;
  Eigen::Index most_points = kMostPoints;  // of the residual process
};

// Returns the cost of the best fit of the analytic model to all rows.
[[nodiscard]] double analytic_cost(const CalibratedProblem& problem);

// Fills in parameters, covariance, residual and conformal of `parameters`, and gives the words of
// FitResult::summary.
[[nodiscard]] std::string fit_calibrated(const CalibratedProblem& problem,
                                         const FitRequest& request, read::Parameters& parameters);

}  // namespace inline_prof::fit
