#include "fit/calibration_fit.hpp"

#include "base/error_metrics.hpp"
#include "fit/matern_fit.hpp"
#include "model/calibrated/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

namespace inline_prof::fit {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// A residual of 15 % is usual for a library's choice of kernel; more is one that went wrong.
constexpr double kUsualResidual = 0.15;
// The process solves for all its points at a cost of their cube.
constexpr Index kMostPoints = 1000;

std::vector<Index> without(Index count, const std::vector<Index>& held_out) {
  const std::set<Index> out(held_out.begin(), held_out.end());
  std::vector<Index> rest;
  for (Index i = 0; i < count; ++i) {
    if (!out.contains(i)) rest.push_back(i);
  }
  return rest;
}

// Rows spread evenly over the list where there are too many of them.
std::vector<Index> thinned(std::vector<Index> rows) {
  const auto count = static_cast<Index>(rows.size());
  if (count <= kMostPoints) return rows;
  std::vector<Index> kept;
  for (Index i = 0; i < kMostPoints; ++i)
    kept.push_back(rows[static_cast<std::size_t>(i * count / kMostPoints)]);
  return kept;
}

model::MaternProcess process_of(const CalibrationInput& input, const model::MaternScales& scales,
                                const VectorXd& targets, const std::vector<Index>& rows) {
  const VectorXd own = targets(rows);
  return {scales, input.features(rows, Eigen::all), own, noise_factors_of(own, kUsualResidual)};
}

struct HeldOut {
  Index row;
  double residual;  // ln(measured / predicted)
  double growth;    // of errors at this distance from the nearest row of the fit
};

// Residuals beyond this share of all are taken for this large where they say what is usual nearby:
// a single wild one would hide others.
constexpr double kTame = 0.95;
// A fit that is nearer than a hundredth of a percent has seen no noise.
constexpr double kLeastError = 1e-4;

void judge_fold(const CalibrationInput& input, const model::MaternScales& scales,
                const std::vector<Index>& fold, std::vector<HeldOut>& results) {
  const std::vector<Index> training = without(input.log_measured.size(), fold);
  const VectorXd log_analytic = input.refit(training);
  const VectorXd targets = input.log_measured - log_analytic;
  const model::MaternProcess process = process_of(input, scales, targets, thinned(training));
  for (const Index row : fold) {
    const auto point = process.estimate(input.features.row(row).transpose());
    const double correction = std::log(model::bounded_correction(scales, point.mean));
    results.push_back({row, targets[row] - correction, model::error_growth(point.distance)});
  }
}

// The mean error of each of `points` over the folds that held it out, as if next to a fitted row.
model::LocalScale scale_of(const std::vector<Index>& points, const std::vector<HeldOut>& results) {
  std::vector<double> errors;
  errors.reserve(results.size());
  for (const HeldOut& result : results)
    errors.push_back(std::abs(result.residual) / result.growth);
  const double most = base::quantile(errors, kTame);
  std::map<Index, std::pair<double, double>> sums;  // of errors and of folds
  double all = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const double error = std::clamp(errors[i], kLeastError, std::max(kLeastError, most));
    auto& [sum, folds] = sums[results[i].row];
    sum += error;
    folds += 1;
    all += error / static_cast<double>(results.size());
  }
  Eigen::ArrayXd usual(static_cast<Index>(points.size()));
  for (Index i = 0; i < usual.size(); ++i) {
    const auto found = sums.find(points[static_cast<std::size_t>(i)]);
    const double error = found == sums.end() ? all : found->second.first / found->second.second;
    usual[i] = model::rounded(error);  // as the file says it
  }
  return model::LocalScale(std::move(usual));
}

// What a row's errors are measured by: never by themselves.
std::vector<double> sigmas_of(const CalibrationInput& input, const model::MaternProcess& process,
                              const model::LocalScale& scale, const std::vector<HeldOut>& results) {
  std::vector<double> sigmas;
  for (const HeldOut& held : results) {
    const auto distances = process.distances(input.features.row(held.row).transpose());
    sigmas.push_back(scale.from_others(distances) * held.growth);
  }
  return sigmas;
}

void judge(const CalibrationInput& input, const std::vector<HeldOut>& results,
           const std::vector<double>& sigmas, CalibrationResult& result) {
  const auto regime_of = [&](const HeldOut& held) {
    return input.regimes.empty() ? std::string(model::ConformalTable::kAll)
                                 : input.regimes[static_cast<std::size_t>(held.row)];
  };
  std::map<std::string, std::vector<double>, std::less<>> scores;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const double score = results[i].residual / sigmas[i];
    scores[model::ConformalTable::kAll].push_back(score);
    if (!input.regimes.empty()) scores[regime_of(results[i])].push_back(score);
  }
  result.table = model::ConformalTable(std::move(scores));
  std::vector<double> widths;
  double inside = 0, error = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto range = result.table.range(regime_of(results[i]), 0.9);
    const double score = results[i].residual / sigmas[i];
    if (score >= range.lower && score <= range.upper) inside += 1;
    error += std::abs(std::expm1(-results[i].residual));
    widths.push_back((std::exp(range.upper * sigmas[i]) - std::exp(range.lower * sigmas[i])) / 2);
  }
  const auto count = static_cast<double>(results.size());
  result.held_out_mape = error / count;
  result.held_out_coverage = inside / count;
  result.median_half_width = base::quantile(std::move(widths), 0.5);
}

}  // namespace

CalibrationResult fit_calibration(const CalibrationInput& input) {
  const Index count = input.log_measured.size();
  if (count < kLeastCalibrationRows) throw std::invalid_argument("calibration: too few rows");
  CalibrationResult result;
  result.targets = input.log_measured - input.log_analytic;
  result.noise_factors = noise_factors_of(result.targets, kUsualResidual);
  result.scales = fit_matern_scales(input.features, result.targets, result.noise_factors);

  std::vector<Index> all(static_cast<std::size_t>(count));
  for (Index i = 0; i < count; ++i)
    all[static_cast<std::size_t>(i)] = i;
  result.points = thinned(std::move(all));
  const model::MaternProcess process =
      process_of(input, result.scales, result.targets, result.points);
  double error = 0;
  for (Index i = 0; i < count; ++i) {
    const double correction = std::log(
        model::bounded_correction(result.scales, process.mean(input.features.row(i).transpose())));
    error += std::abs(std::expm1(correction - result.targets[i]));
  }
  result.in_sample_mape = error / static_cast<double>(count);

  std::vector<HeldOut> results;
  for (const auto& fold : input.folds)
    judge_fold(input, result.scales, fold, results);
  if (results.empty()) throw std::invalid_argument("calibration: no folds");
  result.scale = scale_of(result.points, results);
  judge(input, results, sigmas_of(input, process, result.scale, results), result);
  return result;
}

std::vector<std::vector<Index>> folds_by_key(const VectorXd& keys, Index count) {
  const std::set<double> distinct(keys.data(), keys.data() + keys.size());
  std::map<double, Index> fold_of;
  for (const double key : distinct) {
    const auto next = static_cast<Index>(fold_of.size()) % count;
    fold_of.emplace(key, next);
  }
  std::vector<std::vector<Index>> folds(static_cast<std::size_t>(count));
  for (Index i = 0; i < keys.size(); ++i)
    folds[static_cast<std::size_t>(fold_of[keys[i]])].push_back(i);
  std::erase_if(folds, [&](const auto& fold) {
    return fold.empty() || static_cast<Index>(fold.size()) == keys.size();
  });
  return folds;
}

}  // namespace inline_prof::fit
