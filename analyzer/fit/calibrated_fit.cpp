#include "fit/calibrated_fit.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>

namespace inline_prof::fit {
namespace {

using Eigen::Index;

std::optional<std::vector<double>> read_prior(const FitRequest& request,
                                              const CalibratedProblem& problem,
                                              const std::string& model) {
  if (request.prior.empty()) return std::nullopt;
  const read::Parameters prior = read::read_parameters(request.prior, model);
  std::vector<double> values;
  for (const model::ParameterSpec& spec : problem.specs) {
    if (spec.absent > 0 && !prior.parameters.contains(spec.name)) {
      values.push_back(spec.start);
      continue;
    }
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
    // What the file says is what is calibrated below.
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
