#include "model/published/collective/curve_fit.hpp"

#include "base/median.hpp"
#include "fit/dogbox.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace inline_prof::fit {
namespace {

constexpr double kNearMaximum = 0.95;
constexpr double kLatencyChange = 0.1;  // a row, relative
constexpr std::size_t kFirstLinearRow = 4;

struct LogPoints {
  std::vector<double> x;  // log2 of bytes
  std::vector<double> y;  // log10 of GB/s
};

// The rows of the middle section.
LogPoints middle_section(const MeasuredCurve& curve, const model::collective::Curve& borders) {
  const double least = std::pow(2, borders.linear_until);
  const double most = std::pow(2, borders.saturated_from);
  LogPoints points;
  for (std::size_t i = 0; i < curve.bytes.size(); ++i) {
    if (curve.bytes[i] < least || curve.bytes[i] > most) continue;
    points.x.push_back(std::log2(curve.bytes[i]));
    points.y.push_back(std::log10(curve.bus_gb_per_s[i]));
  }
  return points;
}

model::collective::Sigmoid sigmoid_of(const Eigen::VectorXd& parameters) {
  return {.height = parameters[0],
          .centre = parameters[1],
          .slope = parameters[2],
          .base = parameters[3]};
}

}  // namespace

TurningPoints turning_points(const MeasuredCurve& curve) {
  const std::size_t rows = curve.bytes.size();
  if (rows < kLeastRows) {
    throw std::invalid_argument(
        fmt::format("curve {} has {} rows, expected at least {}", curve.name, rows, kLeastRows));
  }
  TurningPoints points{.linear = kFirstLinearRow, .saturated = rows - 1};
  const double maximum = std::ranges::max(curve.bus_gb_per_s);
  for (std::size_t i = rows - 2; i >= 1; --i) {
    if (curve.bus_gb_per_s[i] < kNearMaximum * maximum) {
      points.saturated = std::min(i + 2, rows - 1);
      break;
    }
  }
  const auto& latency = curve.latency_us;
  for (std::size_t i = kFirstLinearRow + 1; i + 1 < rows; ++i) {
    if (std::abs(latency[i + 1] - latency[i - 1]) / (2 * latency[i]) > kLatencyChange) {
      points.linear = i - 1;
      break;
    }
  }
  return points;
}

CurveFit fit_curve(const MeasuredCurve& curve) {
  const auto factor = model::collective::original_bus_factor(curve.collective, curve.ranks);
  if (!factor || !(*factor > 0)) {
    throw std::invalid_argument(fmt::format("curve {}: no bus factor for {} on {} GPUs", curve.name,
                                            curve.collective, curve.ranks));
  }
  CurveFit fit;
  fit.points = turning_points(curve);
  if (!(curve.bytes[fit.points.linear] > 0)) {
    throw std::invalid_argument(
        fmt::format("curve {}: too many rows of 0 bytes for a turning point", curve.name));
  }
  fit.curve.bus_factor = *factor;
  fit.curve.linear_until = std::log2(curve.bytes[fit.points.linear]);
  fit.curve.saturated_from = std::log2(curve.bytes[fit.points.saturated]);
  fit.curve.max_bus_gb_per_s = std::ranges::max(curve.bus_gb_per_s);
  fit.curve.overhead_us = curve.latency_us[fit.points.linear - 1];

  const LogPoints middle = middle_section(curve, fit.curve);
  fit.fitted_rows = middle.x.size();
  if (middle.x.empty()) {
    throw std::invalid_argument(
        fmt::format("curve {}: no row between its two turning points", curve.name));
  }
  // The original starts the height at the largest x, not y.
  const Eigen::Vector4d start(std::ranges::max(middle.x), base::median(middle.x), 1.0,
                              std::ranges::min(middle.y));
  const auto count = static_cast<Eigen::Index>(middle.x.size());
  const auto residuals = [&](const Eigen::VectorXd& parameters) {
    const model::collective::Sigmoid sigmoid = sigmoid_of(parameters);
    Eigen::VectorXd values(count);
    for (Eigen::Index i = 0; i < count; ++i) {
      const auto row = static_cast<std::size_t>(i);
      values[i] = sigmoid.at(middle.x[row]) - middle.y[row];
    }
    return values;
  };
  const DogboxResult result = minimise_dogbox(residuals, start);
  if (!result.converged) {
    throw std::invalid_argument(fmt::format("curve {}: the sigmoid does not converge", curve.name));
  }
  fit.curve.sigmoid = sigmoid_of(result.x);
  fit.sum_of_squares = result.sum_of_squares;
  return fit;
}

}  // namespace inline_prof::fit
