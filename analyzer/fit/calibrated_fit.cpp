#include "fit/calibrated_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
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
constexpr int kRefitIterations = 60;  // from a solution that shares most of the rows

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

// Rounded as in the file, since the calibration is of these values.
std::vector<double> rounded_values(const LeastSquaresResult& result) {
  std::vector<double> values;
  for (Index i = 0; i < result.theta.size(); ++i)
    values.push_back(model::rounded(std::exp(result.theta[i])));
  return values;
}

void write_analytic(const CalibratedProblem& problem, const LeastSquaresResult& result,
                    const std::vector<double>& values, read::Parameters& parameters) {
  for (std::size_t i = 0; i < problem.specs.size(); ++i)
    parameters.parameters[std::string(problem.specs[i].name)] = values[i];
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

LeastSquaresResult AnalyticFit::fit(int restarts, const std::vector<Index>& rows) const {
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

namespace {

// The analytic model fitted to rows of one stack, or to all of them where there are none.
struct GroupFit {
  std::vector<Index> rows;
  LeastSquaresResult result;
  std::vector<double> values;  // as the file has them
  [[nodiscard]] double cost() const { return result.cost / static_cast<double>(rows.size()); }
};

std::vector<GroupFit> fit_groups(const AnalyticFit& fit, const CalibratedProblem& problem) {
  std::vector<std::vector<Index>> groups = problem.stacks;
  if (groups.empty()) {
    groups.emplace_back(static_cast<std::size_t>(problem.log_measured.size()));
    std::iota(groups.front().begin(), groups.front().end(), Index{0});
  }
  std::vector<GroupFit> fits;
  for (std::vector<Index>& rows : groups) {
    LeastSquaresResult result = fit.fit(problem.restarts, rows);
    std::vector<double> values = rounded_values(result);
    fits.push_back({std::move(rows), std::move(result), std::move(values)});
  }
  return fits;
}

// Returns the group that the model describes best, but for `left_out`: it stands for a stack that
// nobody knows.
std::size_t best_group(const std::vector<GroupFit>& fits, std::size_t left_out) {
  std::size_t best = left_out == 0 && fits.size() > 1 ? 1 : 0;
  for (std::size_t group = 0; group < fits.size(); ++group) {
    if (group != left_out && fits[group].cost() < fits[best].cost()) best = group;
  }
  return best;
}

// A row without its measurement.
struct Described {
  Eigen::VectorXd log_analytic;
  Eigen::MatrixXd features;
};

// Returns all rows, those of each group with the values of the group that `whose` gives for it.
Described describe(const CalibratedProblem& problem, const std::vector<GroupFit>& fits,
                   const std::function<std::size_t(std::size_t group)>& whose) {
  Described all{Eigen::VectorXd(problem.log_measured.size()), problem.features};
  for (std::size_t group = 0; group < fits.size(); ++group) {
    const std::vector<Index>& rows = fits[group].rows;
    const std::vector<double>& values = fits[whose(group)].values;
    all.log_analytic(rows) = problem.log_times(values)(rows);
    if (!problem.features_with) continue;
    const Eigen::MatrixXd features = problem.features_with(values);
    if (all.features.rows() == 0) all.features.resize(features.rows(), features.cols());
    all.features(rows, Eigen::all) = features(rows, Eigen::all);
  }
  return all;
}

// Returns ln(time) of all rows, each group's with what a refit to its rows of `training` gives.
Eigen::VectorXd refit_groups(const AnalyticFit& fit, const std::vector<GroupFit>& fits,
                             const std::vector<Index>& training) {
  Eigen::VectorXd log_times;
  for (const GroupFit& group : fits) {
    std::vector<Index> own;
    std::set_intersection(training.begin(), training.end(), group.rows.begin(), group.rows.end(),
                          std::back_inserter(own));
    const Eigen::VectorXd found =
        own.empty() ? fit.log_times(group.result.theta) : fit.refit(group.result.theta, own);
    if (log_times.size() == 0) log_times = found;
    log_times(group.rows) = found(group.rows);
  }
  return log_times;
}

}  // namespace

std::string fit_calibrated(const CalibratedProblem& problem, const FitRequest& request,
                           read::Parameters& parameters) {
  const AnalyticFit fit(problem.specs, problem.log_measured, problem.log_times,
                        problem.log_times_near, read_prior(request, problem, parameters.model));
  request.say("fitting the analytic model");
  const std::vector<GroupFit> fits = fit_groups(fit, problem);
  const GroupFit& best = fits[best_group(fits, fits.size())];
  const LeastSquaresResult& result = best.result;
  write_analytic(problem, result, best.values, parameters);
  for (std::size_t stack = 0; stack < problem.stacks.size(); ++stack) {
    nlohmann::json& own = parameters.parameters[model::kStackValues][problem.stack_names[stack]];
    for (std::size_t i = 0; i < problem.specs.size(); ++i)
      own[std::string(problem.specs[i].name)] = fits[stack].values[i];
  }

  request.say("fitting to all but a group of rows at a time");
  Described rows = describe(problem, fits, [](std::size_t group) { return group; });
  Described elsewhere =
      problem.stacks.empty()
          ? Described{}
          : describe(problem, fits, [&](std::size_t group) { return best_group(fits, group); });
  CalibrationInput input{
      .features = std::move(rows.features),
      .log_measured = problem.log_measured,
      .log_analytic = std::move(rows.log_analytic),
      .regimes = problem.regimes ? problem.regimes(best.values) : std::vector<std::string>(),
      .folds = problem.folds,
      .longest_fold = problem.longest_fold,
      .stacks = problem.stacks,
      .features_elsewhere = std::move(elsewhere.features),
      .log_analytic_elsewhere = std::move(elsewhere.log_analytic),
      .refit =
          [&](const std::vector<Index>& training) { return refit_groups(fit, fits, training); },
      .most_points = problem.most_points};
  if (!problem.stacks.empty())
    input.features_elsewhere.rightCols(static_cast<Index>(problem.stacks.size())).setZero();
  const CalibrationResult calibration = fit_calibration(input);
  write_residual(problem, calibration, parameters);

  std::string summary = fmt::format(
      "fitted {} parameters to {} rows\n"
      "in sample             MAPE {:.2f} %\n"
      "groups held out       MAPE {:.2f} %, 90 % interval holds {:.1f} %, half-width {:.1f} %\n",
      problem.specs.size(), problem.log_measured.size(), 100 * calibration.in_sample_mape,
      100 * calibration.held_out_mape, 100 * calibration.held_out_coverage,
      100 * calibration.median_half_width);
  for (std::size_t stack = 0; stack < calibration.stack_mapes.size(); ++stack) {
    summary += fmt::format("  of {:<19} MAPE {:.2f} %\n", problem.stack_names[stack],
                           100 * calibration.stack_mapes[stack]);
  }
  if (!problem.stacks.empty()) {
    summary +=
        fmt::format("stacks held out       MAPE {:.2f} %, half-width {:.1f} %\n",
                    100 * calibration.other_stack_mape, 100 * calibration.other_stack_half_width);
  }
  const auto unsure = fit.unsure(result);
  if (!unsure.empty()) summary += "these rows say little about\n";
  for (const AnalyticFit::Unsure& parameter : unsure) {
    summary += fmt::format("  {:<21} {}{}{}\n", parameter.name, parameter.why,
                           parameter.told_by.empty() ? "" : "; would tell: ", parameter.told_by);
  }
  return summary;
}

}  // namespace inline_prof::fit
