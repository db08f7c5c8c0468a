#include "model/published/collective/collective_fit.hpp"

#include "base/error_metrics.hpp"
#include "base/median.hpp"
#include "fit/least_squares.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

namespace inline_prof::fit {
namespace {

constexpr double kNearMaximum = 0.95;
constexpr double kLatencyChange = 0.1;  // a row, relative
constexpr std::size_t kFirstLinearRow = 4;
constexpr std::size_t kLeastRows = 5;
// With fewer rows than the four parameters of the sigmoid there are many answers, and the one that
// is given is the one that the original's solver ends at.
constexpr std::size_t kLeastFittedRows = 5;

model::collective::Sigmoid sigmoid_of(const Eigen::VectorXd& parameters) {
  return {.height = parameters[0],
          .centre = parameters[1],
          .slope = parameters[2],
          .base = parameters[3]};
}

using model::collective::NamedCurve;

// The column of the first of these names that the table has.
std::size_t require_any(const read::Table& table, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (const auto column = table.find(name)) return *column;
  }
  throw read::InputError(
      fmt::format("{}: line 1: missing column {}", table.label(), fmt::join(names, " or ")));
}

double positive(const read::Table& table, std::size_t row, std::size_t column) {
  const double value = table.number(row, column);
  if (!(value > 0)) {
    table.fail(row, column,
               fmt::format("expected a number > 0, found {}", table.cell(row, column)));
  }
  return value;
}

double highest_bandwidth(const MeasuredCurve& curve) {
  return std::ranges::max(curve.rows, {}, &MeasuredCurve::Row::bus_gb_per_s).bus_gb_per_s;
}

constexpr std::size_t kFolds = 5;

// Adds the errors of `fit` at the rows of this fold; kFolds: at all.
void judge(const MeasuredCurve& curve, const CurveFit& fit, std::size_t fold,
           std::vector<base::Judged>& rows) {
  for (std::size_t i = 0; i < curve.rows.size(); ++i) {
    if (fold < kFolds && i % kFolds != fold) continue;
    rows.push_back({.predicted_us = fit.curve.time_us(curve.rows[i].bytes),
                    .measured_us = curve.rows[i].latency_us,
                    .lower_us = {},
                    .upper_us = {}});
  }
}

// Errors at sizes that were not fitted: every fifth row left out in turn.  Empty where what remains
// is too short.
std::vector<base::Judged> cross_validated(const MeasuredCurve& curve) {
  std::vector<base::Judged> rows;
  for (std::size_t fold = 0; fold < kFolds; ++fold) {
    MeasuredCurve rest{curve.name, curve.collective, curve.ranks};
    for (std::size_t i = 0; i < curve.rows.size(); ++i) {
      if (i % kFolds != fold) rest.rows.push_back(curve.rows[i]);
    }
    try {
      judge(curve, fit_curve(rest), fold, rows);
    } catch (const std::invalid_argument&) {
      return {};  // its rows cannot be judged, and the others alone would flatter
    }
  }
  return rows;
}

std::string error_text(std::vector<base::Judged> rows) {
  const auto errors = base::summarize(rows);
  return errors
             ? fmt::format("MAPE {:.1f} %, GMAE {:.1f} %", 100 * errors->mape, 100 * errors->gmae)
             : "too few rows";
}

std::string summary_of(const MeasuredCurve& curve, const CurveFit& fit) {
  std::vector<base::Judged> fitted;
  judge(curve, fit, kFolds, fitted);
  std::string text = fmt::format(
      "{}: {} rows, sections meet at rows {} and {} (2^{:g} and 2^{:g} bytes), sigmoid of {} rows, "
      "squares of log10 sum to {:.3g}; fitted rows {}; sizes left out {}\n",
      curve.name, curve.rows.size(), fit.points.linear, fit.points.saturated,
      fit.curve.linear_until, fit.curve.saturated_from, fit.fitted_rows, fit.sum_of_squares,
      error_text(std::move(fitted)), error_text(cross_validated(curve)));
  if (fit.fitted_rows < kLeastFittedRows) {
    text += fmt::format(
        "{}: the sigmoid has {} rows for four parameters: between them it is a "
        "guess\n",
        curve.name, fit.fitted_rows);
  }
  return text;
}

TurningPoints turning_points(const MeasuredCurve& curve) {
  const std::size_t rows = curve.rows.size();
  if (rows < kLeastRows) {
    throw std::invalid_argument(
        fmt::format("curve {} has {} rows, expected at least {}", curve.name, rows, kLeastRows));
  }
  TurningPoints points{.linear = kFirstLinearRow, .saturated = rows - 1};
  for (std::size_t i = rows - 2; i >= 1; --i) {
    if (curve.rows[i].bus_gb_per_s < kNearMaximum * highest_bandwidth(curve)) {
      points.saturated = std::min(i + 2, rows - 1);
      break;
    }
  }
  const auto latency = [&](std::size_t i) { return curve.rows[i].latency_us; };
  for (std::size_t i = kFirstLinearRow + 1; i + 1 < rows; ++i) {
    if (std::abs(latency(i + 1) - latency(i - 1)) / (2 * latency(i)) > kLatencyChange) {
      points.linear = i - 1;
      break;
    }
  }
  return points;
}

}  // namespace

CurveFit fit_curve(const MeasuredCurve& curve) {
  const auto factor = model::collective::bus_factor(curve.collective, curve.ranks);
  if (!factor || !(*factor > 0)) {
    throw std::invalid_argument(fmt::format("curve {}: no bus factor for {} on {} GPUs", curve.name,
                                            curve.collective, curve.ranks));
  }
  CurveFit fit;
  fit.points = turning_points(curve);
  const MeasuredCurve::Row &first = curve.rows[fit.points.linear],
                           &last = curve.rows[fit.points.saturated];
  if (!(first.bytes > 0)) {
    throw std::invalid_argument(
        fmt::format("curve {}: too many rows of 0 bytes for a turning point", curve.name));
  }
  fit.curve.bus_factor = *factor;
  fit.curve.linear_until = std::log2(first.bytes);
  fit.curve.saturated_from = std::log2(last.bytes);
  fit.curve.max_bus_gb_per_s = highest_bandwidth(curve);
  fit.curve.overhead_us = curve.rows[fit.points.linear - 1].latency_us;

  const double least = std::pow(2, fit.curve.linear_until),
               most = std::pow(2, fit.curve.saturated_from);
  std::vector<double> x, y;  // log2 of bytes and log10 of GB/s, of the middle section
  for (const MeasuredCurve::Row& row : curve.rows) {
    if (row.bytes < least || row.bytes > most) continue;
    x.push_back(std::log2(row.bytes));
    y.push_back(std::log10(row.bus_gb_per_s));
  }
  fit.fitted_rows = x.size();
  if (x.empty()) {
    throw std::invalid_argument(
        fmt::format("curve {}: no row between its two turning points", curve.name));
  }
  // The original starts the height at the largest x, not y.
  const Eigen::Vector4d start(std::ranges::max(x), base::median(x), 1.0, std::ranges::min(y));
  const auto count = static_cast<Eigen::Index>(x.size());
  const auto residuals = [&](const Eigen::VectorXd& parameters) {
    const model::collective::Sigmoid sigmoid = sigmoid_of(parameters);
    Eigen::VectorXd values(count);
    for (Eigen::Index i = 0; i < count; ++i) {
      const auto row = static_cast<std::size_t>(i);
      values[i] = sigmoid.at(x[row]) - y[row];
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

std::vector<MeasuredCurve> measured_curves(const read::Table& table) {
  const auto named = table.find("curve"), type = table.find("type"),
             offset_bandwidth = table.find("busbw_gbps_eps"), bandwidth = table.find("busbw_gbps");
  const std::size_t word = require_any(table, {"collective", "op"}),
                    gpus = table.require("num_gpus"),
                    size = require_any(table, {"size_bytes", "bytes"}),
                    latency = require_any(table, {"latency_us", "time_us"});
  std::vector<MeasuredCurve> curves;
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    const std::string collective = table.cell(row, word);
    std::string name =
        named ? table.cell(row, *named) : fmt::format("{}_{}", collective, table.cell(row, gpus));
    if (!named && type && !table.cell(row, *type).empty()) name += "_" + table.cell(row, *type);
    if (name.empty()) table.fail(row, "expected the name of a curve, found an empty cell");
    const double ranks = positive(table, row, gpus);
    auto curve = std::ranges::find(curves, name, &MeasuredCurve::name);
    if (curve == curves.end()) {
      curve = curves.insert(curve, MeasuredCurve{name, collective, ranks});
    } else if (curve->collective != collective || curve->ranks != ranks) {
      table.fail(row, fmt::format("curve {} was {} on {} GPUs before, here it is {} on {}", name,
                                  curve->collective, curve->ranks, collective, ranks));
    }
    const double bytes = table.number(row, size);  // 0 in logs whose counts are rounded down
    if (bytes < 0) table.fail(row, size, fmt::format("expected bytes >= 0, found {}", bytes));
    if (!curve->rows.empty() && bytes < curve->rows.back().bytes) {
      table.fail(row, size,
                 fmt::format("expected sizes of curve {} in ascending order, found {} after {}",
                             name, bytes, curve->rows.back().bytes));
    }
    const double time = positive(table, row, latency);
    const auto factor = model::collective::bus_factor(collective, ranks);
    double bus = kBandwidthOffset;
    if (offset_bandwidth) {
      bus = positive(table, row, *offset_bandwidth);
    } else if (bandwidth) {
      bus += table.number(row, *bandwidth);
      if (bus < kBandwidthOffset) table.fail(row, *bandwidth, "expected a number >= 0");
    } else if (factor) {
      bus += bytes / time * *factor / 1000;
    } else {
      table.fail(row, word, fmt::format("no bus factor for {}", collective));
    }
    curve->rows.push_back({bytes, time, bus});
  }
  return curves;
}

FitResult fit_collective_curves(const FitRequest& request) {
  FitResult result;
  std::vector<NamedCurve> fitted;
  std::int64_t rows = 0;
  std::string reason;
  for (const read::Table& table : request.tables) {
    rows += static_cast<std::int64_t>(table.row_count());
    for (const MeasuredCurve& curve : measured_curves(table)) {
      request.say(curve.name);
      try {
        const CurveFit fit = fit_curve(curve);
        result.summary += summary_of(curve, fit);
        fitted.push_back({.name = curve.name,
                          .collective = curve.collective,
                          .ranks = static_cast<std::int64_t>(curve.ranks),
                          .curve = fit.curve});
      } catch (const std::invalid_argument& error) {
        // The other curves are good without this one.
        reason = fmt::format("{}: {}", table.label(), error.what());
        result.summary += fmt::format("left out: {}\n", reason);
      }
    }
  }
  if (fitted.empty()) {
    throw read::InputError(reason.empty() ? "no rows to fit a curve to" : reason);
  }
  std::set<std::string_view> names;
  for (const NamedCurve& curve : fitted) {
    if (!names.insert(curve.name).second) {
      throw read::InputError(fmt::format("{}: curve {} stands in another table, too",
                                         request.tables.back().label(), curve.name));
    }
  }
  result.file_text =
      model::collective::curves_text(fitted, request.machine ? request.machine->id : "", rows);
  return result;
}

}  // namespace inline_prof::fit
