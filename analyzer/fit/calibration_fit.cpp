#include "fit/calibration_fit.hpp"

#include "base/error_metrics.hpp"
#include "fit/matern_fit.hpp"
#include "model/calibrated/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
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
// Of a conformal table's list; its quantiles stand for more.
constexpr std::size_t kMostScores = 500;

std::vector<Index> without(Index count, const std::vector<Index>& held_out) {
  const std::set<Index> out(held_out.begin(), held_out.end());
  std::vector<Index> rest;
  for (Index i = 0; i < count; ++i) {
    if (!out.contains(i)) rest.push_back(i);
  }
  return rest;
}

// The process that a parameter file can hold, of what `rows` say.
struct RowsProcess {
  InducedProcess induced;
  std::vector<Index> points;  // rows of the input
  model::MaternProcess process;
};

RowsProcess process_of(const CalibrationInput& input, const model::MaternScales& scales,
                       const VectorXd& targets, const std::vector<Index>& rows) {
  const VectorXd own = targets(rows);
  const MatrixXd features = input.features(rows, Eigen::all);
  RowsProcess result;
  result.induced =
      induce(scales, features, own, noise_factors_of(own, kUsualResidual), input.most_points);
  const InducedProcess& induced = result.induced;
  for (const Index point : induced.points)
    result.points.push_back(rows[static_cast<std::size_t>(point)]);
  result.process = {scales, features(induced.points, Eigen::all), induced.targets,
                    induced.noise_factors};
  return result;
}

struct HeldOut {
  std::size_t fold;
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
                std::size_t number, std::vector<HeldOut>& results) {
  const std::vector<Index>& fold = input.folds[number];
  const std::vector<Index> training = without(input.log_measured.size(), fold);
  const VectorXd log_analytic = input.refit(training);
  const VectorXd targets = input.log_measured - log_analytic;
  const model::MaternProcess process = process_of(input, scales, targets, training).process;
  for (const Index row : fold) {
    const auto point = process.estimate(input.features.row(row).transpose());
    const double correction = std::log(model::bounded_correction(scales, point.mean));
    results.push_back(
        {number, row, targets[row] - correction, model::error_growth(point.distance)});
  }
}

// What held-out rows say about the errors around each point of a process.
class ErrorsNearby {
 public:
  ErrorsNearby(const CalibrationInput& input, const model::MaternProcess& process, Index points,
               const std::vector<HeldOut>& results)
      : sums_(static_cast<std::size_t>(points)) {
    std::vector<double> errors;
    errors.reserve(results.size());
    for (const HeldOut& result : results)
      errors.push_back(std::abs(result.residual) / result.growth);
    const double most = std::max(kLeastError, base::quantile(errors, kTame));
    for (std::size_t i = 0; i < results.size(); ++i) {
      const double error = std::clamp(errors[i], kLeastError, most);
      Place& place = places_[results[i].row];
      if (place.own.folds == 0) {
        place.distances = process.distances(input.features.row(results[i].row).transpose());
        place.distances.minCoeff(&place.nearest);
      }
      place.own.add(error);
      sums_[static_cast<std::size_t>(place.nearest)].add(error);
      all_.add(error);
    }
  }

  // As if next to a fitted row: the mean of the errors that are nearest to each point.
  [[nodiscard]] Eigen::ArrayXd usual() const {
    Eigen::ArrayXd usual(static_cast<Index>(sums_.size()));
    for (Index i = 0; i < usual.size(); ++i) {
      const Sum& sum = sums_[static_cast<std::size_t>(i)];
      usual[i] = model::rounded(sum.folds == 0 ? all_.mean() : sum.mean());  // as the file says it
    }
    return usual;
  }

  // What the other rows say about this one.
  [[nodiscard]] double without(Index row, Eigen::ArrayXd usual) const {
    const Place& place = places_.at(row);
    const Sum& sum = sums_[static_cast<std::size_t>(place.nearest)];
    Eigen::ArrayXd distances = place.distances;
    if (sum.folds > place.own.folds) {
      usual[place.nearest] = (sum.errors - place.own.errors) / (sum.folds - place.own.folds);
    } else {
      distances[place.nearest] = std::numeric_limits<double>::infinity();
    }
    return model::LocalScale(std::move(usual)).at(distances);
  }

 private:
  struct Sum {
    double errors = 0, folds = 0;
    void add(double error) {
      errors += error;
      folds += 1;
    }
    [[nodiscard]] double mean() const { return errors / folds; }
  };
  struct Place {
    Index nearest = 0;
    Eigen::ArrayXd distances;
    Sum own;
  };

  std::vector<Sum> sums_;  // of each point
  std::map<Index, Place> places_;
  Sum all_;
};

// Evenly spread ranks of a long list, its ends among them.
std::vector<double> thinned(std::vector<double> scores) {
  if (scores.size() <= kMostScores) return scores;
  std::sort(scores.begin(), scores.end());
  std::vector<double> kept;
  for (std::size_t i = 0; i < kMostScores; ++i)
    kept.push_back(scores[i * (scores.size() - 1) / (kMostScores - 1)]);
  return kept;
}

void judge(const CalibrationInput& input, const std::vector<HeldOut>& results,
           const std::vector<double>& sigmas, CalibrationResult& result) {
  const auto regime_of = [&](const HeldOut& held) {
    if (held.fold == input.longest_fold) return std::string(model::ConformalTable::kLonger);
    return input.regimes.empty() ? std::string(model::ConformalTable::kAll)
                                 : input.regimes[static_cast<std::size_t>(held.row)];
  };
  std::map<std::string, std::vector<double>, std::less<>> scores;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const double score = results[i].residual / sigmas[i];
    scores[model::ConformalTable::kAll].push_back(score);
    const std::string regime = regime_of(results[i]);
    if (regime != model::ConformalTable::kAll) scores[regime].push_back(score);
  }
  for (auto& [regime, values] : scores)
    values = thinned(std::move(values));
  result.table = input.longest_fold ? model::ConformalTable(std::move(scores),
                                                            std::exp(input.log_measured.maxCoeff()))
                                    : model::ConformalTable(std::move(scores));
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
  const VectorXd targets = input.log_measured - input.log_analytic;
  result.scales =
      fit_matern_scales(input.features, targets, noise_factors_of(targets, kUsualResidual));

  RowsProcess rows = process_of(input, result.scales, targets, without(count, {}));
  double error = 0;
  for (Index i = 0; i < count; ++i) {
    const double correction = std::log(model::bounded_correction(
        result.scales, rows.process.mean(input.features.row(i).transpose())));
    error += std::abs(std::expm1(correction - targets[i]));
  }
  result.in_sample_mape = error / static_cast<double>(count);

  std::vector<HeldOut> results;
  for (std::size_t fold = 0; fold < input.folds.size(); ++fold)
    judge_fold(input, result.scales, fold, results);
  if (results.empty()) throw std::invalid_argument("calibration: no folds");
  const ErrorsNearby nearby(input, rows.process, static_cast<Index>(rows.points.size()), results);
  const Eigen::ArrayXd usual = nearby.usual();
  std::vector<double> sigmas;
  for (const HeldOut& held : results)
    sigmas.push_back(nearby.without(held.row, usual) * held.growth);
  judge(input, results, sigmas, result);
  result.scale = model::LocalScale(usual);
  result.points = std::move(rows.points);
  result.targets = std::move(rows.induced.targets);
  result.noise_factors = std::move(rows.induced.noise_factors);
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
