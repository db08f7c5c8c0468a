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

class AnalyticFit {
 public:
  // ln(time in us) of every row with these parameters.
  using LogTimes = std::function<Eigen::VectorXd(std::span<const double> values)>;
  // The same with the choices (tiles, algorithms) that are best with these parameters.
  using LogTimesNear = std::function<LogTimes(std::span<const double> values)>;

  // `prior` replaces the starts of `specs`.  `log_times_near` may be empty; with it derivatives of
  // a model that tries many choices cost a hundredth.
  AnalyticFit(std::vector<model::ParameterSpec> specs, Eigen::VectorXd log_measured,
              LogTimes log_times, LogTimesNear log_times_near,
              const std::optional<std::vector<double>>& prior);

  // From the prior's centre and from `restarts` places around it, to `rows`; the best of them.
  [[nodiscard]] LeastSquaresResult fit(int restarts, const std::vector<Eigen::Index>& rows) const;
  // From `start`, with the rows `training` only: ln(time) of all rows.
  [[nodiscard]] Eigen::VectorXd refit(const Eigen::VectorXd& start,
                                      const std::vector<Eigen::Index>& training) const;

  [[nodiscard]] Eigen::VectorXd log_times(const Eigen::VectorXd& theta) const;

  // A parameter of which the rows say little.
  struct Unsure {
    std::string name;
    std::string why;
    std::string told_by;  // ParameterSpec::told_by
  };
  // Returns those at a bound, those left at their start, and those whose logarithm has a standard
  // deviation above a half.
  [[nodiscard]] std::vector<Unsure> unsure(const LeastSquaresResult& result) const;

 private:
  [[nodiscard]] LeastSquaresProblem problem(const std::vector<Eigen::Index>& rows) const;

  std::vector<model::ParameterSpec> specs_;
  Eigen::VectorXd log_measured_;
  LogTimes log_times_;
  LogTimesNear log_times_near_;
  Eigen::VectorXd centre_, weight_, lower_, upper_;
};

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
  std::optional<std::size_t> longest_fold;        // CalibrationInput::longest_fold
  std::vector<std::vector<Eigen::Index>> stacks;  // CalibrationInput::stacks; a feature for each
  std::vector<std::string> stack_names;
  // The bound of each row, with these parameters: only for a model whose rows' errors differ by
  // that more than by where they lie.
  std::function<std::vector<std::string>(std::span<const double> values)> regimes;
  int restarts = 2;
  Eigen::Index most_points = kMostPoints;  // of the residual process
};

// Fills in parameters, covariance, residual and conformal of `parameters`, and gives the words of
// FitResult::summary.
[[nodiscard]] std::string fit_calibrated(const CalibratedProblem& problem,
                                         const FitRequest& request, read::Parameters& parameters);

}  // namespace inline_prof::fit
