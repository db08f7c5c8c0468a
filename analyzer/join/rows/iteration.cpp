#include "join/rows/iteration.hpp"

namespace inline_prof::join {

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
