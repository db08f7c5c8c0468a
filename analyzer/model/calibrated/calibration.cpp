#include "model/calibrated/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace inline_prof::model {
namespace {

// In lengths of the process: over which errors are alike.
constexpr double kReach = 1.2;
// As how many points nearby the mean over all counts.
constexpr double kWeightOfAll = 1;

constexpr double kTailShare = 0.05;
constexpr std::size_t kLeastTail = 10;  // scores that tell how fast a tail falls off

// Returns the squared distances of the rows of `scaled` to each other.
Eigen::ArrayXXd squared_distances_between(const Eigen::MatrixXd& scaled) {
  const Eigen::Index count = scaled.rows();
  Eigen::ArrayXXd distances = Eigen::ArrayXXd::Zero(count, count);
  for (Eigen::Index i = 0; i < count; ++i) {
    for (Eigen::Index j = 0; j < i; ++j) {
      distances(i, j) = distances(j, i) = (scaled.row(i) - scaled.row(j)).squaredNorm();
    }
  }
  return distances;
}

// Returns the share of scores as far out as `score`.  They ascend from `begin` to `end` once each
// is multiplied by `sign`, as `score` is.
template <typename Iterator>
double share_as_far(Iterator begin, Iterator end, double sign, double score) {
  const auto count = static_cast<std::size_t>(end - begin);
  const auto all = static_cast<double>(count) + 1;
  const auto first_as_far = std::lower_bound(
      begin, end, score, [sign](double value, double limit) { return sign * value < limit; });
  const auto as_far = static_cast<double>(end - first_as_far);
  const double counted = (1 + as_far) / all;
  const auto tail =
      std::max(kLeastTail, static_cast<std::size_t>(kTailShare * static_cast<double>(count)));
  if (count < 2 * tail) return counted;
  const auto outer = end - static_cast<std::ptrdiff_t>(tail);
  const double tail_begins = sign * *outer;
  if (score <= tail_begins) return counted;
  const double sum = std::accumulate(
      outer, end, 0.0, [sign](double so_far, double value) { return so_far + sign * value; });
  const double mean = sum / static_cast<double>(tail);
  if (!(mean > tail_begins)) return counted;
  const double expected =
      static_cast<double>(tail + 1) / all * std::exp(-(score - tail_begins) / (mean - tail_begins));
  return std::min(counted, std::max(expected, as_far / all));
}

using Eigen::ArrayXd;
using Eigen::ArrayXXd;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kLevel = 0.9;
constexpr double kNormal95 = 1.6449;  // of a normal distribution: 90 % lie within

// Held-out scores are a little too good: the lengths of the process were found with all rows.
// With it groups that no part of a fit has seen hold 87 to 96 % (docs/accuracy.md).
constexpr double kOptimism = 1.05;
// In lengths of the process: the distance at which errors have grown by 40 %.
constexpr double kErrorReach = 2.0;

}  // namespace

LocalScale::LocalScale(Eigen::ArrayXd usual_errors) : usual_errors_(std::move(usual_errors)) {
  if (!usual_errors_.allFinite() || !(usual_errors_ > 0).all()) {
    throw std::invalid_argument("local scale: an error is not greater than 0");
  }
  if (usual_errors_.size() > 0) mean_error_ = usual_errors_.mean();
}

double LocalScale::at(const Eigen::ArrayXd& distances) const {
  const Eigen::ArrayXd weights = (-(distances / kReach).square()).exp();
  return ((weights * usual_errors_).sum() + kWeightOfAll * mean_error_) /
         (weights.sum() + kWeightOfAll);
}

ConformalTable::ConformalTable(std::map<std::string, std::vector<double>, std::less<>> scores,
                               double longest_us)
    : scores_(std::move(scores)), longest_us_(longest_us) {
  for (auto& [regime, values] : scores_) {
    std::sort(values.begin(), values.end());
  }
}

const std::vector<double>& ConformalTable::of(std::string_view regime) const {
  static const std::vector<double> nothing;
  const auto own = scores_.find(regime);
  if (own != scores_.end() && own->second.size() >= kLeastScores) return own->second;
  const auto all = scores_.find(kAll);
  return all == scores_.end() ? nothing : all->second;
}

// The ceil((n + 1) * q)-th smallest of n is not exceeded with probability q by a further one.
ConformalTable::Range ConformalTable::range(std::string_view regime, double level) const {
  const auto& scores = of(regime);
  if (scores.empty()) return {};
  const auto count = static_cast<double>(scores.size());
  constexpr double rounding = 1e-9;  // 100 * (1 - 0.9) / 2 is a little less than 5
  const double tail = (1 - level) / 2;
  const auto rank = [&](double q) { return std::clamp(q, 1.0, count) - 1; };
  return {scores[static_cast<std::size_t>(rank(std::floor((count + 1) * tail + rounding)))],
          scores[static_cast<std::size_t>(rank(std::ceil((count + 1) * (1 - tail) - rounding)))]};
}

double ConformalTable::share_above(std::string_view regime, double score) const {
  const auto& scores = of(regime);
  return share_as_far(scores.begin(), scores.end(), 1, score);
}

double ConformalTable::share_below(std::string_view regime, double score) const {
  const auto& scores = of(regime);
  return share_as_far(scores.rbegin(), scores.rend(), -1, -score);
}

MaternProcess::MaternProcess(MaternScales scales, const MatrixXd& features, const VectorXd& targets,
                             const VectorXd& noise_factors)
    : scales_(std::move(scales)) {
  if (features.rows() != targets.size() || features.rows() != noise_factors.size() ||
      features.cols() != scales_.length.size()) {
    throw std::invalid_argument("Gaussian process: sizes differ");
  }
  if (!features.allFinite() || !targets.allFinite() || !noise_factors.allFinite()) {
    throw std::invalid_argument("Gaussian process: a value is not finite");
  }
  const MatrixXd scaled = features * scales_.length.cwiseInverse().asDiagonal();
  MatrixXd covariance =
      matern_covariance(scales_.signal, squared_distances_between(scaled)).matrix();
  covariance.diagonal() += scales_.noise * scales_.noise * noise_factors;
  const Eigen::LLT<MatrixXd> decomposition(covariance);
  if (decomposition.info() != Eigen::Success) {
    throw std::invalid_argument("Gaussian process: the covariance is not positive definite");
  }
  points_ = scaled;
  weights_ = decomposition.solve(targets);
  lower_ = decomposition.matrixL();
}

ArrayXd MaternProcess::squared_distances(const VectorXd& features) const {
  // A feature of all points at a time: a few of one point are too few for vector instructions.
  ArrayXd squared = ArrayXd::Zero(points_.rows());
  for (Index j = 0; j < points_.cols(); ++j)
    squared += (points_.col(j).array() - features[j] / scales_.length[j]).square();
  return squared;
}

ArrayXd MaternProcess::distances(const VectorXd& features) const {
  return squared_distances(features).sqrt();
}

double MaternProcess::mean(const VectorXd& features) const {
  return is_empty() ? 0 : mean_at(distances(features));
}

double MaternProcess::mean_at(const ArrayXd& distances) const {
  const ArrayXd r = std::sqrt(3.0) * distances;
  return scales_.signal * scales_.signal * ((1.0 + r) * (-r).exp() * weights_.array()).sum();
}

MaternProcess::Estimate MaternProcess::estimate(const VectorXd& features) const {
  if (is_empty()) return {};
  const ArrayXd squared = squared_distances(features);
  const VectorXd covariance = matern_covariance(scales_.signal, squared).matrix();
  Estimate estimate;
  estimate.mean = covariance.dot(weights_);
  const VectorXd half = lower_.triangularView<Eigen::Lower>().solve(covariance);
  estimate.variance = std::max(0.0, scales_.signal * scales_.signal - half.squaredNorm());
  estimate.distance = std::sqrt(squared.minCoeff());
  return estimate;
}

bool is_before_hopper(const read::Machine& machine) {
  return std::strtod(machine.compute_capability.c_str(), nullptr) < 9;
}

double transfer_sigma(const read::Machine& machine, bool has_same_units,
                      const TransferSigmas& sigmas) {
  if (has_same_units) return sigmas.same_units;
  return is_before_hopper(machine) ? sigmas.before_hopper : sigmas.from_hopper;
}

Prediction as_prediction(const Calibration::Estimate& estimate, std::string_view bound,
                         std::string model, std::string parameters) {
  Prediction prediction;
  prediction.time = microseconds(estimate.time_us);
  prediction.bound = bound_from_name(bound);
  prediction.interval90 = {microseconds(estimate.lower_us), microseconds(estimate.upper_us)};
  prediction.model = std::move(model);
  prediction.parameters = std::move(parameters);
  prediction.is_extrapolated = estimate.distance > kFarAway;
  return prediction;
}

RowPrediction as_row(const Calibration::Estimate& estimate, std::string_view bound,
                     std::string_view what, std::vector<Part> parts, bool has_interval) {
  RowPrediction prediction;
  prediction.time_us = estimate.time_us;
  prediction.bound = bound;
  prediction.parts = std::move(parts);
  if (!has_interval) return prediction;
  prediction.lower_us = estimate.lower_us;
  prediction.upper_us = estimate.upper_us;
  if (estimate.distance > kFarAway) {
    prediction.reason = fmt::format("extrapolated: {:.1f} lengths from the nearest measured {}",
                                    estimate.distance, what);
  }
  return prediction;
}

std::vector<std::string> transfer_warnings(bool is_transfer, std::string_view trained_machine,
                                           std::string_view machine) {
  if (!is_transfer) return {};
  return {fmt::format("the parameters were fitted on {}, the machine is {}: intervals are wider",
                      trained_machine, machine)};
}

double error_growth(double distance) {
  return std::hypot(1.0, distance / kErrorReach);
}

double bounded_correction(const MaternScales& scales, double mean) {
  return std::exp(std::clamp(mean, -3 * scales.signal, 3 * scales.signal));
}

Calibration::Calibration(MaternProcess process, LocalScale scale, ConformalTable table,
                         double unit_sigma, bool uses_mean)
    : process_(std::move(process)),
      scale_(std::move(scale)),
      table_(std::move(table)),
      unit_sigma_(unit_sigma),
      uses_mean_(uses_mean) {}

double Calibration::correction(double mean) const {
  return uses_mean_ ? bounded_correction(process_.scales(), mean) : 1.0;
}

double Calibration::time_us(double analytic_us, const Eigen::VectorXd& features) const {
  return uses_mean_ && !process_.is_empty() ? analytic_us * correction(process_.mean(features))
                                            : analytic_us;
}

Calibration::Estimate Calibration::estimate(double analytic_us, const Eigen::VectorXd& features,
                                            std::string_view regime, double more_sigma) const {
  Estimate estimate;
  if (!scale_.is_empty() && !process_.is_empty()) {
    // The process's own variance is not asked for: it costs more than all the rest.
    const Eigen::ArrayXd distances = process_.distances(features);
    estimate.correction = correction(process_.mean_at(distances));
    estimate.distance = distances.minCoeff();
    estimate.sigma = kOptimism * scale_.at(distances) * error_growth(estimate.distance);
  } else {
    const MaternProcess::Estimate point = process_.estimate(features);
    estimate.correction = process_.is_empty() ? 1.0 : correction(point.mean);
    estimate.distance = point.distance;
    estimate.sigma = kOptimism * std::hypot(std::sqrt(point.variance), process_.scales().noise) *
                     error_growth(point.distance);
  }
  estimate.time_us = analytic_us * estimate.correction;
  estimate.unit_sigma = std::hypot(unit_sigma_, more_sigma);
  const ConformalTable::Range range =
      table_.range(table_.regime_at(estimate.time_us, regime), kLevel);
  const double unit = kNormal95 * estimate.unit_sigma;
  // Both errors are there at once and know nothing of each other.
  estimate.lower_us =
      estimate.time_us * std::exp(-std::hypot(std::min(0.0, range.lower * estimate.sigma), unit));
  estimate.upper_us =
      estimate.time_us * std::exp(std::hypot(std::max(0.0, range.upper * estimate.sigma), unit));
  return estimate;
}

TailProbability Calibration::tail_probability(double measured_us, const Estimate& estimate,
                                              std::string_view regime) const {
  const double sigma = std::hypot(estimate.sigma, estimate.unit_sigma);
  const double score = std::log(measured_us / estimate.time_us) / sigma;
  const std::string_view at = table_.regime_at(estimate.time_us, regime);
  return {table_.share_above(at, score), table_.share_below(at, score)};
}

}  // namespace inline_prof::model
