#include "fit/calibrated_fit.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <random>
#include <stdexcept>
#include <utility>

namespace inline_prof::fit {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

constexpr double kRestartSpread = 0.6;  // of a logarithm, either way
// Deviations of a parameter's logarithm that are worth a word.
constexpr double kUncertain = 0.5;
constexpr double kNotMoved = 0.01, kNotMovedDeviation = 0.1;
constexpr int kRefitIterations = 25;  // from a solution that shares most of the rows

std::vector<double> values_at(const VectorXd& theta) {
  std::vector<double> values(static_cast<std::size_t>(theta.size()));
  for (Index i = 0; i < theta.size(); ++i)
    values[static_cast<std::size_t>(i)] = std::exp(theta[i]);
  return values;
}

using Eigen::Index;

std::optional<std::vector<double>> read_prior(const FitRequest& request,
                                              const CalibratedProblem& problem,
                                              const std::string& model) {
  if (request.prior.empty()) return std::nullopt;
  const read::Parameters prior = read::read_parameters(request.prior, model);
  std::vector<double> values;
  for (const model::ParameterSpec& spec : problem.specs) {
    const double value = prior.number(spec.name);
    if (!(value > 0)) {
      throw read::InputError(
          fmt::format("{}: /parameters/{}: expected a number > 0", prior.label, spec.name));
    }
    values.push_back(value);
  }
  return values;
}

void write_analytic(const CalibratedProblem& problem, const LeastSquaresResult& result,
                    std::vector<double>& values, read::Parameters& parameters) {
  values.clear();
  for (std::size_t i = 0; i < problem.specs.size(); ++i) {
    // Rounded as in the file, since the calibration below is of these values.
    values.push_back(model::rounded(std::exp(result.theta[static_cast<Index>(i)])));
    parameters.parameters[std::string(problem.specs[i].name)] = values.back();
  }
  parameters.covariance = nlohmann::json::array();
  for (Index i = 0; i < result.covariance.rows(); ++i) {
    auto row = nlohmann::json::array();
    for (Index j = 0; j < result.covariance.cols(); ++j)
      row.push_back(model::rounded(result.covariance(i, j)));
    parameters.covariance.push_back(row);
  }
}

void write_residual(const CalibratedProblem& problem, const CalibrationResult& calibration,
                    read::Parameters& parameters) {
  model::StoredResidual stored;
  stored.scales = calibration.scales;
  for (const Index at : calibration.points)
    stored.points.push_back(problem.points[static_cast<std::size_t>(at)]);
  const Eigen::VectorXd& targets = calibration.targets;
  stored.targets.assign(targets.data(), targets.data() + targets.size());
  const Eigen::VectorXd& factors = calibration.noise_factors;
  stored.noise_factors.assign(factors.data(), factors.data() + factors.size());
  const Eigen::ArrayXd& errors = calibration.scale.usual_errors();
  stored.usual_errors.assign(errors.data(), errors.data() + errors.size());
  parameters.residual = model::residual_json(stored);
  parameters.conformal = model::conformal_json(calibration.table);
}

}  // namespace

AnalyticFit::AnalyticFit(std::vector<model::ParameterSpec> specs, VectorXd log_measured,
                         LogTimes log_times, LogTimesNear log_times_near,
                         const std::optional<std::vector<double>>& prior)
    : specs_(std::move(specs)),
      log_measured_(std::move(log_measured)),
      log_times_(std::move(log_times)),
      log_times_near_(std::move(log_times_near)) {
  const auto count = static_cast<Index>(specs_.size());
  if (prior && prior->size() != specs_.size()) {
    throw std::invalid_argument("the prior has other parameters than the model");
  }
  centre_.resize(count);
  weight_.resize(count);
  lower_.resize(count);
  upper_.resize(count);
  for (Index i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const model::ParameterSpec& spec = specs_[at];
    centre_[i] = std::log(prior ? (*prior)[at] : spec.start);
    weight_[i] = spec.weight;
    lower_[i] = std::log(spec.start * spec.least);
    upper_[i] = std::log(spec.start * spec.most);
  }
}

VectorXd AnalyticFit::log_times(const VectorXd& theta) const {
  return log_times_(values_at(theta));
}

LeastSquaresProblem AnalyticFit::problem(const std::vector<Index>& rows) const {
  LeastSquaresProblem problem;
  problem.residual_count = static_cast<Index>(rows.size());
  problem.centre = centre_;
  problem.weight = weight_;
  problem.lower = lower_;
  problem.upper = upper_;
  const auto residuals_of = [this, rows](LogTimes times) -> LeastSquaresProblem::Residuals {
    return [this, rows, times = std::move(times)](const VectorXd& theta,
                                                  Eigen::Ref<VectorXd> residuals) {
      const VectorXd difference = times(values_at(theta)) - log_measured_;
      residuals = difference(rows);
    };
  };
  problem.residuals = residuals_of(log_times_);
  if (log_times_near_) {
    problem.residuals_near = [this, residuals_of](const VectorXd& theta) {
      return residuals_of(log_times_near_(values_at(theta)));
    };
  }
  return problem;
}

LeastSquaresResult AnalyticFit::fit(int restarts) const {
  std::vector<Index> rows(static_cast<std::size_t>(log_measured_.size()));
  for (Index i = 0; i < log_measured_.size(); ++i)
    rows[static_cast<std::size_t>(i)] = i;
  const LeastSquaresProblem everything = problem(rows);
  LeastSquaresResult best = solve_least_squares(everything, centre_);
  std::mt19937_64 random(1);  // always the same: a fit gives the same bytes each time
  for (int restart = 0; restart < restarts; ++restart) {
    VectorXd start = centre_;
    for (Index i = 0; i < start.size(); ++i) {
      const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
      start[i] += kRestartSpread * (2 * unit - 1);
    }
    LeastSquaresResult result = solve_least_squares(everything, start);
    if (result.cost < best.cost) best = std::move(result);
  }
  return best;
}

VectorXd AnalyticFit::refit(const VectorXd& start, const std::vector<Index>& training) const {
  const LeastSquaresResult result =
      solve_least_squares(problem(training), start, {.max_iterations = kRefitIterations});
  return log_times(result.theta);
}

std::vector<AnalyticFit::Unsure> AnalyticFit::unsure(const LeastSquaresResult& result) const {
  std::vector<Unsure> all;
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    const auto at = static_cast<Index>(i);
    const double value = result.theta[at];
    const double deviation = std::sqrt(result.covariance(at, at));
    std::string why;
    if (value <= lower_[at] || value >= upper_[at]) {
      why = value <= lower_[at] ? "at the least that is allowed" : "at the most that is allowed";
    } else if (std::abs(value - centre_[at]) < kNotMoved && deviation > kNotMovedDeviation) {
      why = "left where it started";
    } else if (deviation > kUncertain) {
      why = "uncertain by half or more";
    } else {
      continue;
    }
    all.push_back({std::string(specs_[i].name), std::move(why), std::string(specs_[i].told_by)});
  }
  return all;
}

std::string fit_calibrated(const CalibratedProblem& problem, const FitRequest& request,
                           read::Parameters& parameters) {
  const AnalyticFit fit(problem.specs, problem.log_measured, problem.log_times,
                        problem.log_times_near, read_prior(request, problem, parameters.model));
  request.say("fitting the analytic model");
  const LeastSquaresResult result = fit.fit(problem.restarts);
  std::vector<double> values;
  write_analytic(problem, result, values, parameters);

  request.say("fitting to all but a group of rows at a time");
  CalibrationInput input{
      .features = problem.features_with ? problem.features_with(values) : problem.features,
      .log_measured = problem.log_measured,
      .log_analytic = problem.log_times(values),
      .regimes = problem.regimes ? problem.regimes(values) : std::vector<std::string>(),
      .folds = problem.folds,
      .longest_fold = problem.longest_fold,
      .refit =
          [&](const std::vector<Index>& training) { return fit.refit(result.theta, training); },
      .most_points = problem.most_points};
  const CalibrationResult calibration = fit_calibration(input);
  write_residual(problem, calibration, parameters);

  std::string summary = fmt::format(
      "fitted {} parameters to {} rows\n"
      "in sample             MAPE {:.2f} %\n"
      "groups held out       MAPE {:.2f} %, 90 % interval holds {:.1f} %, half-width {:.1f} %\n",
      problem.specs.size(), problem.log_measured.size(), 100 * calibration.in_sample_mape,
      100 * calibration.held_out_mape, 100 * calibration.held_out_coverage,
      100 * calibration.median_half_width);
  const auto unsure = fit.unsure(result);
  if (!unsure.empty()) summary += "these rows say little about\n";
  for (const AnalyticFit::Unsure& parameter : unsure) {
    summary += fmt::format("  {:<21} {}{}{}\n", parameter.name, parameter.why,
                           parameter.told_by.empty() ? "" : "; would tell: ", parameter.told_by);
  }
  return summary;
}

}  // namespace inline_prof::fit
