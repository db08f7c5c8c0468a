// Fits the parameters of an analytic model, all of which are greater than 0, to measured times.
#pragma once

#include "fit/least_squares.hpp"
#include "model/calibrated/parameter_spec.hpp"

#include <Eigen/Core>

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

  // From the prior's centre and from `restarts` places around it; the best of them.
  [[nodiscard]] LeastSquaresResult fit(int restarts) const;
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
  // Those at a bound, those left where they started, and those whose logarithm has a standard
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

}  // namespace inline_prof::fit
