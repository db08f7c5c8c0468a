#include "join/rows/statistics.hpp"

#include "base/error_metrics.hpp"

#include <numeric>
#include <stdexcept>
#include <utility>

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

Iteration iteration_of(std::span<const double> times_ms) {
  if (times_ms.empty()) return {};
  std::vector<double> times(times_ms.begin(), times_ms.end());
  const MedianAndInterval time = median_and_interval95(std::span(times));
  if (!(time.median > 0)) return {};
  Iteration iteration{.us = time.median * 1e3, .ci95_us = {}};
  if (time.ci95) iteration.ci95_us = Interval{time.ci95->lower * 1e3, time.ci95->upper * 1e3};
  return iteration;
}

Iteration mean_iteration(const std::vector<Iteration>& of_devices) {
  if (of_devices.empty()) return {};
  const double weight = 1.0 / static_cast<double>(of_devices.size());
  Iteration mean{.us = 0.0, .ci95_us = Interval{}};
  for (const Iteration& device : of_devices) {
    if (!device.us) return {};
    *mean.us += *device.us * weight;
    if (device.ci95_us && mean.ci95_us) {
      mean.ci95_us->lower += device.ci95_us->lower * weight;
      mean.ci95_us->upper += device.ci95_us->upper * weight;
    } else {
      mean.ci95_us.reset();
    }
  }
  return mean;
}

}  // namespace inline_prof::join
