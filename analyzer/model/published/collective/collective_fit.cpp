#include "model/published/collective/collective_fit.hpp"

#include "base/error_metrics.hpp"
#include "base/median.hpp"
#include "fit/least_squares.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
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

using model::collective::NamedCurve;

// The column of the first of these names that the table has.
std::optional<std::size_t> find_any(const read::Table& table,
                                    std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (const auto column = table.find(name)) return column;
  }
  return std::nullopt;
}

std::size_t require_any(const read::Table& table, std::initializer_list<std::string_view> names) {
  if (const auto column = find_any(table, names)) return *column;
  std::string list;
  for (const std::string_view name : names)
    list += fmt::format("{}{}", list.empty() ? "" : " or ", name);
  throw read::InputError(fmt::format("{}: line 1: missing column {}", table.label(), list));
}

double positive(const read::Table& table, std::size_t row, std::size_t column) {
  const double value = table.number(row, column);
  if (!(value > 0)) {
    table.fail(row, column,
               fmt::format("expected a number > 0, found {}", table.cell(row, column)));
  }
  return value;
}

class CurveColumns {
 public:
  explicit CurveColumns(const read::Table& table)
      : table_(table),
        curve_(table.find("curve")),
        collective_(require_any(table, {"collective", "op"})),
        ranks_(table.require("num_gpus")),
        type_(table.find("type")),
        bytes_(require_any(table, {"size_bytes", "bytes"})),
        time_(require_any(table, {"latency_us", "time_us"})),
        offset_bandwidth_(table.find("busbw_gbps_eps")),
        bandwidth_(table.find("busbw_gbps")) {}

  [[nodiscard]] std::string name(std::size_t row) const {
    if (curve_) return table_.cell(row, *curve_);
    std::string name =
        fmt::format("{}_{}", table_.cell(row, collective_), table_.cell(row, ranks_));
    if (type_ && !table_.cell(row, *type_).empty()) name += "_" + table_.cell(row, *type_);
    return name;
  }

  void add(std::size_t row, MeasuredCurve& curve) const {
    const std::string collective = table_.cell(row, collective_);
    const double ranks = positive(table_, row, ranks_);
    if (curve.bytes.empty()) {
      curve.collective = collective;
      curve.ranks = ranks;
    } else if (curve.collective != collective || curve.ranks != ranks) {
      table_.fail(row, fmt::format("curve {} was {} on {} GPUs before, here it is {} on {}",
                                   curve.name, curve.collective, curve.ranks, collective, ranks));
    }
    const double bytes = table_.number(row, bytes_);  // 0 in logs whose counts are rounded down
    if (bytes < 0) table_.fail(row, bytes_, fmt::format("expected bytes >= 0, found {}", bytes));
    if (!curve.bytes.empty() && bytes < curve.bytes.back()) {
      table_.fail(row, bytes_,
                  fmt::format("expected sizes of curve {} in ascending order, found {} "
                              "after {}",
                              curve.name, bytes, curve.bytes.back()));
    }
    const double time = positive(table_, row, time_);
    curve.rows.push_back(row);
    curve.bytes.push_back(bytes);
    curve.latency_us.push_back(time);
    curve.bus_gb_per_s.push_back(bandwidth(row, curve, bytes, time));
  }

 private:
  [[nodiscard]] double bandwidth(std::size_t row, const MeasuredCurve& curve, double bytes,
                                 double time_us) const {
    if (offset_bandwidth_) return positive(table_, row, *offset_bandwidth_);
    if (bandwidth_) {
      const double value = table_.number(row, *bandwidth_);
      if (value < 0) table_.fail(row, *bandwidth_, "expected a number >= 0");
      return value + kBandwidthOffset;
    }
    const auto factor = model::collective::bus_factor(curve.collective, curve.ranks);
    if (!factor) {
      table_.fail(row, collective_, fmt::format("no bus factor for {}", curve.collective));
    }
    return bytes / time_us * *factor / 1000 + kBandwidthOffset;
  }

  const read::Table& table_;
  std::optional<std::size_t> curve_;
  std::size_t collective_;
  std::size_t ranks_;
  std::optional<std::size_t> type_;
  std::size_t bytes_;
  std::size_t time_;
  std::optional<std::size_t> offset_bandwidth_;
  std::optional<std::size_t> bandwidth_;
};

// Adds the errors of `fit` at the rows that `is_judged` chooses.
template <typename Chosen>
void judge(const MeasuredCurve& curve, const CurveFit& fit, Chosen is_judged,
           std::vector<base::Judged>& rows) {
  for (std::size_t i = 0; i < curve.bytes.size(); ++i) {
    if (!is_judged(i)) continue;
    rows.push_back({.predicted_us = fit.curve.time_us(curve.bytes[i]),
                    .measured_us = curve.latency_us[i],
                    .lower_us = {},
                    .upper_us = {}});
  }
}

constexpr std::size_t kFolds = 5;

// Errors at sizes that were not fitted: every fifth row left out in turn.  Empty where what remains
// is too short.
std::vector<base::Judged> cross_validated(const MeasuredCurve& curve) {
  std::vector<base::Judged> rows;
  for (std::size_t fold = 0; fold < kFolds; ++fold) {
    const auto is_left_out = [&](std::size_t row) { return row % kFolds == fold; };
    MeasuredCurve rest{.name = curve.name,
                       .collective = curve.collective,
                       .ranks = curve.ranks,
                       .rows = {},
                       .bytes = {},
                       .latency_us = {},
                       .bus_gb_per_s = {}};
    for (std::size_t i = 0; i < curve.bytes.size(); ++i) {
      if (is_left_out(i)) continue;
      rest.bytes.push_back(curve.bytes[i]);
      rest.latency_us.push_back(curve.latency_us[i]);
      rest.bus_gb_per_s.push_back(curve.bus_gb_per_s[i]);
    }
    try {
      judge(curve, fit_curve(rest), is_left_out, rows);
    } catch (const std::invalid_argument&) {
      return {};  // a fold without a fit: its rows cannot be judged, and the others alone would
                  // flatter
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
  judge(
      curve, fit, [](std::size_t) { return true; }, fitted);
  std::string text = fmt::format(
      "{}: {} rows, sections meet at rows {} and {} (2^{:g} and 2^{:g} bytes), sigmoid of {} rows, "
      "squares of log10 sum to {:.3g}; fitted rows {}; sizes left out {}\n",
      curve.name, curve.bytes.size(), fit.points.linear, fit.points.saturated,
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
  const auto factor = model::collective::bus_factor(curve.collective, curve.ranks);
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

std::vector<MeasuredCurve> measured_curves(const read::Table& table) {
  const CurveColumns columns(table);
  std::vector<MeasuredCurve> curves;
  std::map<std::string, std::size_t> places;
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    std::string name = columns.name(row);
    if (name.empty()) table.fail(row, "expected the name of a curve, found an empty cell");
    const auto [place, is_new] = places.try_emplace(name, curves.size());
    if (is_new) {
      curves.emplace_back();
      curves.back().name = std::move(name);
    }
    columns.add(row, curves[place->second]);
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
  for (std::size_t i = 0; i < fitted.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (fitted[i].name == fitted[j].name) {
        throw read::InputError(fmt::format("{}: curve {} stands in another table, too",
                                           request.tables.back().label(), fitted[i].name));
      }
    }
  }
  result.file_text =
      model::collective::curves_text(fitted, request.machine ? request.machine->id : "", rows);
  return result;
}

}  // namespace inline_prof::fit
