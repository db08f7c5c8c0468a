#include "record/overhead_measurement.hpp"

#include "base/median.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

namespace inline_prof::record {
namespace {

constexpr std::size_t kBlocksInAGroup = 4;
constexpr int kResamples = 4000;
constexpr double kMostNeeded = 1e7;  // iterations; nobody waits for more

// Returns the logarithm of armed / unarmed in four blocks; nothing if they are no group.
std::optional<double> contrast(std::span<const BlockTimes> group) {
  const bool outer = group[0].armed;
  if (group[1].armed == outer || group[2].armed == outer || group[3].armed != outer)
    return std::nullopt;
  std::array<double, kBlocksInAGroup> logs{};
  for (std::size_t i = 0; i < kBlocksInAGroup; ++i) {
    if (group[i].times_ms.empty()) return std::nullopt;
    const double time = base::median({group[i].times_ms.begin(), group[i].times_ms.end()});
    if (!(time > 0)) return std::nullopt;
    logs[i] = std::log(time);
  }
  const double difference = (logs[0] + logs[3] - logs[1] - logs[2]) / 2;
  return outer ? difference : -difference;
}

struct MeanAndError {
  double mean = 0;
  double error = 0;  // standard error of the mean
};

MeanAndError mean_and_error(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values)
    sum += value;
  const double mean = sum / n;
  double squares = 0;
  for (const double value : values)
    squares += (value - mean) * (value - mean);
  return {.mean = mean, .error = std::sqrt(squares / (n - 1) / n)};
}

// Returns the lower and upper end of the 95 % interval of the mean.
std::pair<double, double> bootstrap_t_interval(const std::vector<double>& values) {
  const MeanAndError whole = mean_and_error(values);
  if (!(whole.error > 0)) return {whole.mean, whole.mean};
  std::mt19937_64 random(1);
  std::vector<double> resample(values.size());
  std::vector<double> ratios;
  ratios.reserve(kResamples);
  for (int i = 0; i < kResamples; ++i) {
    for (double& value : resample)
      value = values[random() % values.size()];
    const MeanAndError part = mean_and_error(resample);
    // All groups of a resample may be the same.
    if (part.error > 1e-9 * whole.error) ratios.push_back((part.mean - whole.mean) / part.error);
  }
  std::sort(ratios.begin(), ratios.end());
  const auto quantile = [&](double share) {
    return ratios[static_cast<std::size_t>(share * static_cast<double>(ratios.size() - 1))];
  };
  return {whole.mean - quantile(0.975) * whole.error, whole.mean - quantile(0.025) * whole.error};
}

double percent(double log_ratio) {
  return 100 * std::expm1(log_ratio);
}

}  // namespace

OverheadMeasurement measure_overhead(std::span<const BlockTimes> blocks) {
  OverheadMeasurement overhead;
  std::size_t longest_block = 0;
  for (const BlockTimes& block : blocks)
    longest_block = std::max(longest_block, block.times_ms.size());
  std::vector<double> contrasts;
  while (blocks.size() >= kBlocksInAGroup) {
    const auto group = blocks.first(kBlocksInAGroup);
    const auto one = contrast(group);
    blocks = blocks.subspan(one ? kBlocksInAGroup : 1);
    if (!one) continue;
    contrasts.push_back(*one);
    for (const BlockTimes& block : group) {
      (block.armed ? overhead.armed_iterations : overhead.unarmed_iterations) +=
          static_cast<std::int64_t>(block.times_ms.size());
    }
  }
  overhead.groups = contrasts.size();
  if (overhead.groups < kFewestGroups) {
    const std::size_t missing = (kFewestGroups - overhead.groups) * kBlocksInAGroup * longest_block;
    if (missing > 0) overhead.iterations_needed = static_cast<std::int64_t>(missing);
    return overhead;
  }

  const auto [lower, upper] = bootstrap_t_interval(contrasts);
  overhead.slowdown_percent = percent(mean_and_error(contrasts).mean);
  overhead.ci95_percent = {percent(lower), percent(upper)};
  const double half_width = (percent(upper) - percent(lower)) / 2;
  const double ratio = half_width / kOverheadResolutionPercent;
  const auto taken = static_cast<double>(overhead.armed_iterations + overhead.unarmed_iterations);
  const double more = std::max(0.0, std::ceil(taken * (ratio * ratio - 1)));
  if (more <= kMostNeeded) overhead.iterations_needed = static_cast<std::int64_t>(more);
  return overhead;
}

}  // namespace inline_prof::record
