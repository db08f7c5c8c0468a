#include "join/samples.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace inline_prof::join {
namespace {

std::size_t not_tight(const read::Event& event) {
  const std::size_t known = std::min(event.tight.size(), event.measured_ms.size());
  const auto end = event.tight.begin() + static_cast<std::ptrdiff_t>(known);
  return static_cast<std::size_t>(std::count(event.tight.begin(), end, read::Tight::kNo));
}

}  // namespace

void Samples::add(const read::Event& event, const EventBias& bias) {
  measured_ms_.insert(measured_ms_.end(), event.measured_ms.begin(), event.measured_ms.end());
  ends_.push_back(static_cast<std::uint32_t>(measured_ms_.size()));
  const std::size_t first = bias_us_.size();
  bool differs = false;
  for (std::size_t i = 0; i < event.measured_ms.size(); ++i) {
    bias_us_.push_back(static_cast<float>(bias.of_sample_us(event, i)));
    differs = differs || bias_us_.back() != bias_us_[first];
  }
  if (!differs && bias_us_.size() > first) bias_us_.resize(first + 1);
  bias_ends_.push_back(static_cast<std::uint32_t>(bias_us_.size()));
}

void Samples::append_us(std::size_t i, std::vector<double>& raw_us,
                        std::vector<double>& unbiased_us) const {
  const std::size_t first = i == 0 ? 0 : ends_[i - 1];
  const std::size_t first_bias = i == 0 ? 0 : bias_ends_[i - 1];
  const bool is_one = bias_ends_[i] - first_bias == 1;
  for (std::size_t sample = first; sample < ends_[i]; ++sample) {
    const double time_us = static_cast<double>(measured_ms_[sample]) * 1e3;
    const float bias_us = bias_us_[first_bias + (is_one ? 0 : sample - first)];
    raw_us.push_back(time_us);
    unbiased_us.push_back(time_us - static_cast<double>(bias_us));
  }
}

void Samples::shrink() {
  measured_ms_.shrink_to_fit();
  ends_.shrink_to_fit();
  bias_us_.shrink_to_fit();
  bias_ends_.shrink_to_fit();
}

void SamplesOfRuns::add(Samples samples, std::size_t first_row) {
  samples.shrink();
  samples_.push_back(std::move(samples));
  first_rows_.push_back(first_row);
}

void SamplesOfRuns::append_us(std::size_t run, std::size_t row, std::vector<double>& raw_us,
                              std::vector<double>& unbiased_us) const {
  samples_[run].append_us(row - first_rows_[run], raw_us, unbiased_us);
}

double summarise(Statistic statistic, const std::vector<double>& values) {
  switch (statistic) {
    case Statistic::kMedian:
      return median(values);
    case Statistic::kMean:
      return mean(values);
    case Statistic::kMin:
      break;
  }
  if (values.empty()) throw std::invalid_argument("minimum of nothing");
  return *std::min_element(values.begin(), values.end());
}

void set_measured(Row& row, const read::Event& event, const EventBias& bias, Statistic statistic) {
  row.samples = event.measured_ms.size();
  row.not_tight = not_tight(event);
  if (event.measured_ms.empty()) return;
  // Kept from event to event: there are as many of them as there are ranks times layers.
  static thread_local std::vector<double> raw_us;
  static thread_local std::vector<double> unbiased_us;
  raw_us.clear();
  unbiased_us.clear();
  for (std::size_t i = 0; i < event.measured_ms.size(); ++i) {
    raw_us.push_back(event.measured_ms[i] * 1e3);
    unbiased_us.push_back(raw_us.back() - bias.of_sample_us(event, i));
  }
  const double mean_us = mean(unbiased_us);
  row.mean_us = std::max(0.0, mean_us);
  const double raw_mean_us = mean(raw_us);
  std::sort(raw_us.begin(), raw_us.end());
  std::sort(unbiased_us.begin(), unbiased_us.end());
  const auto of_sorted = [&](const std::vector<double>& sorted, double their_mean_us) {
    if (statistic == Statistic::kMean) return their_mean_us;
    return statistic == Statistic::kMin ? sorted.front() : median_of_sorted(sorted);
  };
  row.raw_us = of_sorted(raw_us, raw_mean_us);
  const double statistic_us = of_sorted(unbiased_us, mean_us);
  row.bias_us = *row.raw_us - statistic_us;
  row.corrected_us = std::max(0.0, statistic_us);
  row.raw_spread_us = median_spread_of_sorted(raw_us);
  if (statistic == Statistic::kMedian) row.raw_ci95_us = median_interval95_of_sorted(raw_us);
}

}  // namespace inline_prof::join
