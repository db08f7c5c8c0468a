#include "join/rows/samples.hpp"

#include "join/rows/row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace inline_prof::join {
namespace {

std::size_t count_tight(const read::Event& event, read::Tight wanted) {
  const std::size_t known = std::min(event.tight.size(), event.measured_ms.size());
  const auto end = event.tight.begin() + static_cast<std::ptrdiff_t>(known);
  return static_cast<std::size_t>(std::count(event.tight.begin(), end, wanted));
}

// Returns the median over the samples that are not tight; empty if most of their threads have not
// waited.
std::optional<double> after_wait_us(const read::Event& event) {
  if (event.after_wait_us.empty()) return std::nullopt;
  std::vector<double> known;
  std::size_t late = 0;
  const std::size_t count = std::min(event.tight.size(), event.after_wait_us.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (event.tight[i] != read::Tight::kNo) continue;
    ++late;
    if (std::isfinite(event.after_wait_us[i])) known.push_back(event.after_wait_us[i]);
  }
  if (2 * known.size() <= late) return std::nullopt;
  return median(std::move(known));
}

}  // namespace

void Samples::add(const read::Event& event, const EventBias& bias) {
  measured_ms_.insert(measured_ms_.end(), event.measured_ms.begin(), event.measured_ms.end());
  ends_.push_back(static_cast<std::uint32_t>(measured_ms_.size()));
  if (!event.measured_ms.empty()) {
    if (const auto bias_us = bias.of_all_samples_us(event)) {
      bias_us_.push_back(static_cast<float>(*bias_us));
    } else {
      for (std::size_t i = 0; i < event.measured_ms.size(); ++i)
        bias_us_.push_back(static_cast<float>(bias.of_sample_us(event, i)));
    }
  }
  bias_ends_.push_back(static_cast<std::uint32_t>(bias_us_.size()));
}

void Samples::append_us(std::size_t i, std::vector<double>& raw_us,
                        std::vector<double>& unbiased_us) const {
  const std::span<const float> times_ms = measured_ms(i);
  const std::span<const float> biases_us = bias_us(i);
  for (std::size_t sample = 0; sample < times_ms.size(); ++sample) {
    const double time_us = static_cast<double>(times_ms[sample]) * 1e3;
    const float bias_us = biases_us[biases_us.size() == 1 ? 0 : sample];
    raw_us.push_back(time_us);
    unbiased_us.push_back(time_us - static_cast<double>(bias_us));
  }
}

std::span<const float> Samples::measured_ms(std::size_t i) const {
  const std::size_t first = i == 0 ? 0 : ends_[i - 1];
  return {measured_ms_.data() + first, ends_[i] - first};
}

std::span<const float> Samples::bias_us(std::size_t i) const {
  const std::size_t first = i == 0 ? 0 : bias_ends_[i - 1];
  return {bias_us_.data() + first, bias_ends_[i] - first};
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

void SamplesOfRuns::leave_out(std::size_t run, std::size_t rows) {
  const auto place = static_cast<std::ptrdiff_t>(run);
  samples_.erase(samples_.begin() + place);
  first_rows_.erase(first_rows_.begin() + place);
  for (std::size_t later = run; later < first_rows_.size(); ++later)
    first_rows_[later] -= rows;
}

void SamplesOfRuns::append_us(std::size_t run, std::size_t row, std::vector<double>& raw_us,
                              std::vector<double>& unbiased_us) const {
  samples_[run].append_us(row - first_rows_[run], raw_us, unbiased_us);
}

namespace {

// Returns mean and median of the samples less their biases.
std::pair<double, double> unbiased_us(const read::Event& event, const EventBias& bias) {
  static thread_local std::vector<double> times_us;
  times_us.clear();
  for (std::size_t i = 0; i < event.measured_ms.size(); ++i)
    times_us.push_back(event.measured_ms[i] * 1e3 - bias.of_sample_us(event, i));
  const double mean_us = mean(times_us);
  std::ranges::sort(times_us);
  return {mean_us, median_of_sorted(times_us)};
}

}  // namespace

void set_measured(Row& row, const read::Event& event, const EventBias& bias) {
  row.samples = event.measured_ms.size();
  row.late = count_tight(event, read::Tight::kNo);
  row.queued = count_tight(event, read::Tight::kYes);
  // A pair inside a graph holds no wait for its launch.
  row.not_tight = row.is_graph_node ? 0 : row.late;
  row.after_wait_us = after_wait_us(event);
  if (event.measured_ms.empty()) return;
  // Kept from event to event: there are as many of them as there are ranks times layers.
  static thread_local std::vector<double> raw_us;
  raw_us.clear();
  for (const double time_ms : event.measured_ms)
    raw_us.push_back(time_ms * 1e3);
  const double raw_mean_us = mean(raw_us);
  std::ranges::sort(raw_us);
  row.raw_us = median_of_sorted(raw_us);
  row.raw_spread_us = median_spread_of_sorted(raw_us);
  row.raw_ci95_us = median_interval95_of_sorted(raw_us);

  const std::optional<double> bias_us = bias.of_all_samples_us(event);
  const auto [mean_us, median_us] = bias_us
                                        ? std::pair(raw_mean_us - *bias_us, *row.raw_us - *bias_us)
                                        : unbiased_us(event, bias);
  row.bias_us = *row.raw_us - median_us;
  row.mean_us = std::max(0.0, mean_us);
  row.corrected_us = std::max(0.0, median_us);
}

namespace {

constexpr double kLeastFreedom = 8;    // degrees of it: a variance is known within a factor of two
constexpr double kLeastSigma = 0.005;  // clocks differ by that much between runs
constexpr double k95 = 1.96;           // standard deviations of a normal distribution

struct Variance {
  double squares = 0;
  double freedom = 0;

  void add(const std::vector<double>& logarithms) {
    double mean = 0;
    for (const double each : logarithms)
      mean += each / static_cast<double>(logarithms.size());
    for (const double each : logarithms)
      squares += (each - mean) * (each - mean);
    freedom += static_cast<double>(logarithms.size()) - 1;
  }
  [[nodiscard]] std::optional<double> sigma() const {
    if (freedom < kLeastFreedom) return std::nullopt;
    return std::max(std::sqrt(squares / freedom), kLeastSigma);
  }
};

// Copies through the host and collectives wait for others.
bool waits_for_nobody(const read::Event& event) {
  return !event.kernel_name.empty() && !is_collective(event);
}

}  // namespace

void set_intervals_of_few_samples(std::vector<Row>& rows, const std::vector<read::Event>& events) {
  std::map<std::string, std::pair<const read::Event*, std::vector<double>>> equal;
  for (const read::Event& event : events) {
    auto& [first, logarithms] =
        equal[fmt::format("{} {} {}", event.name, fmt::join(event.launch.grid, ","),
                          event.op ? read::op_text(*event.op) : "")];
    first = &event;
    for (const double ms : event.measured_ms)
      if (ms > 0) logarithms.push_back(std::log(ms));
  }
  Variance all;
  std::map<std::string, Variance> by_name;
  for (const auto& [key, launches] : equal) {
    const auto& [event, logarithms] = launches;
    if (logarithms.size() < 2) continue;
    by_name[event->name].add(logarithms);
    if (waits_for_nobody(*event)) all.add(logarithms);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Row& row = rows[i];
    if (!row.raw_us || row.raw_ci95_us || row.samples == 0) continue;
    std::optional<double> sigma = by_name[events[i].name].sigma();
    if (!sigma && waits_for_nobody(events[i])) sigma = all.sigma();
    if (!sigma) continue;
    const double factor = std::exp(k95 * *sigma / std::sqrt(static_cast<double>(row.samples)));
    row.raw_ci95_us = Interval{*row.raw_us / factor, *row.raw_us * factor};
  }
}

}  // namespace inline_prof::join
