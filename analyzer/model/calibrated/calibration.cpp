#include "model/calibrated/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace inline_prof::model {
namespace {

constexpr double kLevel = 0.9;
constexpr double kNormal95 = 1.6449;  // of a normal distribution: 90 % lie within

// Held-out scores are a little too good: the lengths of the process were found with all rows.
// With it groups that no part of a fit has seen hold 87 to 96 % (docs/accuracy.md).
constexpr double kOptimism = 1.05;
// In lengths of the process: the distance at which errors have grown by 40 %.
constexpr double kErrorReach = 2.0;

}  // namespace

double unit_sigma(bool is_transfer, bool has_same_units) {
  if (!is_transfer) return kSameMachineSigma;
  return has_same_units ? kOtherMachineSigma : kOtherArchitectureSigma;
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

std::string far_away_reason(const Calibration::Estimate& estimate, std::string_view what) {
  if (!(estimate.distance > kFarAway)) return "";
  return fmt::format("extrapolated: {:.1f} lengths from the nearest measured {}", estimate.distance,
                     what);
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
                                            std::string_view regime) const {
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
  estimate.unit_sigma = unit_sigma_;
  const ConformalTable::Range range =
      table_.range(table_.regime_at(estimate.time_us, regime), kLevel);
  const double unit = kNormal95 * unit_sigma_;
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
