#include "fit/calibrated_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <random>
#include <tuple>
#include <utility>

namespace inline_prof::fit {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
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

Eigen::Map<const VectorXd> as_vector(const std::vector<double>& values) {
  return {values.data(), static_cast<Index>(values.size())};
}

MatrixXd as_rows(const std::vector<VectorXd>& rows) {
  MatrixXd matrix(static_cast<Index>(rows.size()), rows.empty() ? 0 : rows.front().size());
  for (Index i = 0; i < matrix.rows(); ++i)
    matrix.row(i) = rows[static_cast<std::size_t>(i)].transpose();
  return matrix;
}

VectorXd log_of(const std::vector<RowTime>& times) {
  VectorXd log_times(static_cast<Index>(times.size()));
  for (Index i = 0; const RowTime& time : times)
    log_times[i++] = std::log(time.time_us);
  return log_times;
}

class AnalyticFit {
 public:
  // `prior` replaces the starts of the problem, which has to outlive this.
  AnalyticFit(const CalibratedProblem& problem, const std::optional<std::vector<double>>& prior)
      : problem_(problem) {
    const auto count = static_cast<Index>(problem.specs.size());
    centre_.resize(count);
    weight_.resize(count);
    lower_.resize(count);
    upper_.resize(count);
    for (Index i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const model::ParameterSpec& spec = problem.specs[at];
      centre_[i] = std::log(prior ? (*prior)[at] : spec.start);
      weight_[i] = spec.weight;
      lower_[i] = std::log(spec.start * spec.least);
      upper_[i] = std::log(spec.start * spec.most);
    }
  }

  // From the prior's centre and from places around it, to `rows`; the best of them.
  [[nodiscard]] LeastSquaresResult fit(const std::vector<Index>& rows) const;
  // From `start`, with the rows `training` only: ln(time) of all rows.
  [[nodiscard]] VectorXd refit(const VectorXd& start, const std::vector<Index>& training) const {
    return log_times(
        solve_least_squares(least_squares(training), start, {.max_iterations = kRefitIterations})
            .theta);
  }
  [[nodiscard]] VectorXd log_times(const VectorXd& theta) const {
    return log_of(problem_.times(values_at(theta)));
  }
  // Returns, as lines of a summary, the parameters at a bound, those left at their start, and those
  // whose logarithm has a standard deviation above a half.
  [[nodiscard]] std::string unsure(const LeastSquaresResult& result) const;

 private:
  [[nodiscard]] LeastSquaresProblem least_squares(const std::vector<Index>& rows) const;

  const CalibratedProblem& problem_;
  VectorXd centre_, weight_, lower_, upper_;
};

LeastSquaresProblem AnalyticFit::least_squares(const std::vector<Index>& rows) const {
  LeastSquaresProblem problem;
  problem.residual_count = static_cast<Index>(rows.size());
  problem.centre = centre_;
  problem.weight = weight_;
  problem.lower = lower_;
  problem.upper = upper_;
  const auto residuals_of = [this, rows](RowTimes times) -> LeastSquaresProblem::Residuals {
    return [this, rows, times = std::move(times)](const VectorXd& theta,
                                                  Eigen::Ref<VectorXd> residuals) {
      const VectorXd difference =
          log_of(times(values_at(theta))) - as_vector(problem_.log_measured);
      residuals = difference(rows);
    };
  };
  problem.residuals = residuals_of(problem_.times);
  if (problem_.times_near) {
    problem.residuals_near = [this, residuals_of](const VectorXd& theta) {
      return residuals_of(problem_.times_near(values_at(theta)));
    };
  }
  return problem;
}

LeastSquaresResult AnalyticFit::fit(const std::vector<Index>& rows) const {
  const LeastSquaresProblem everything = least_squares(rows);
  LeastSquaresResult best = solve_least_squares(everything, centre_);
  std::mt19937_64 random(1);  // always the same: a fit gives the same bytes each time
  for (int restart = 0; restart < problem_.restarts; ++restart) {
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

std::string AnalyticFit::unsure(const LeastSquaresResult& result) const {
  std::string lines;
  for (std::size_t i = 0; i < problem_.specs.size(); ++i) {
    const auto at = static_cast<Index>(i);
    const double value = result.theta[at];
    const double deviation = std::sqrt(result.covariance(at, at));
    const bool is_left =
        std::abs(value - centre_[at]) < kNotMoved && deviation > kNotMovedDeviation;
    const char* const why = value <= lower_[at]      ? "at the least that is allowed"
                            : value >= upper_[at]    ? "at the most that is allowed"
                            : is_left                ? "left where it started"
                            : deviation > kUncertain ? "uncertain by half or more"
                                                     : nullptr;
    if (why == nullptr) continue;
    const auto& [name, told_by] = std::tie(problem_.specs[i].name, problem_.specs[i].told_by);
    if (lines.empty()) lines = "these rows say little about\n";
    lines += fmt::format("  {:<21} {}{}{}\n", name, why,
                         told_by.empty() ? "" : "; would tell: ", told_by);
  }
  return lines;
}

std::vector<Index> all_rows(const CalibratedProblem& problem) {
  std::vector<Index> rows(problem.log_measured.size());
  std::iota(rows.begin(), rows.end(), Index{0});
  return rows;
}

// The analytic model fitted to rows of one stack, or to all of them where there are none.
struct GroupFit {
  std::vector<Index> rows;
  LeastSquaresResult result;
  std::vector<double> values;  // as the file has them
  [[nodiscard]] double cost() const { return result.cost / static_cast<double>(rows.size()); }
};

std::vector<GroupFit> fit_groups(const AnalyticFit& fit, const CalibratedProblem& problem) {
  std::vector<std::vector<Index>> groups = problem.stacks;
  if (groups.empty()) groups.push_back(all_rows(problem));
  std::vector<GroupFit> fits;
  for (std::vector<Index>& rows : groups) {
    LeastSquaresResult result = fit.fit(rows);
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
  Described all{VectorXd(static_cast<Index>(problem.log_measured.size())),
                as_rows(problem.features)};
  for (std::size_t group = 0; group < fits.size(); ++group) {
    const std::vector<Index>& rows = fits[group].rows;
    const std::vector<double>& values = fits[whose(group)].values;
    all.log_analytic(rows) = log_of(problem.times(values))(rows);
    if (!problem.features_with) continue;
    const MatrixXd features = as_rows(problem.features_with(values));
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
  const AnalyticFit fit(problem, read_prior(request, problem, parameters.model));
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
  std::vector<std::string> regimes;
  if (problem.has_regimes) {
    for (const RowTime& time : problem.times(best.values))
      regimes.emplace_back(time.bound);
  }
  CalibrationInput input{
      .features = std::move(rows.features),
      .log_measured = as_vector(problem.log_measured),
      .log_analytic = std::move(rows.log_analytic),
      .regimes = std::move(regimes),
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
  return summary + fit.unsure(result);
}

double analytic_cost(const CalibratedProblem& problem) {
  return AnalyticFit(problem, std::nullopt).fit(all_rows(problem)).cost;
}

}  // namespace inline_prof::fit
