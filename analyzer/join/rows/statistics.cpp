#include "join/rows/statistics.hpp"

#include "base/error_metrics.hpp"

#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

namespace inline_prof::join {

double mean(std::span<const double> values) {
  if (values.empty()) throw std::invalid_argument("mean of nothing");
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::optional<double> half_width_percent(const std::optional<double>& value,
                                         const std::optional<Interval>& interval) {
  if (!value || !interval || *value <= 0) return std::nullopt;
  return 50.0 * (interval->upper - interval->lower) / *value;
}

std::optional<Errors> prediction_errors(std::span<const PredictedAndMeasured> pairs) {
  std::vector<base::Judged> rows;
  std::vector<double> ratios;
  for (const auto& [predicted, measured] : pairs) {
    if (!(measured > 0)) continue;
    rows.push_back(
        {.predicted_us = predicted, .measured_us = measured, .lower_us = {}, .upper_us = {}});
    ratios.push_back(measured / predicted);
  }
  const auto summary = base::summarize(rows);
  if (!summary) return std::nullopt;
  return Errors{.rows = summary->count,
                .mape = summary->mape,
                .gmae = summary->gmae,
                .bias = summary->bias,
                .median_ratio = median(std::move(ratios))};
}

}  // namespace inline_prof::join
