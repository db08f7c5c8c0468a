#include "join/rows/nested_regions.hpp"

#include "join/rows/nesting.hpp"
#include "join/rows/statistics.hpp"

#include <algorithm>

namespace inline_prof::join {

std::optional<NestedRegions> nested_region_bias(std::span<const read::Event> events,
                                                const std::vector<Row>& rows) {
  const auto is_timed = [&](std::size_t i) { return !events[i].measured_ms.empty(); };
  // An event may be the region of some and a child of another.
  std::vector<std::optional<double>> medians_us(events.size());
  const auto median_us = [&](std::size_t i) {
    if (!medians_us[i]) medians_us[i] = median(events[i].measured_ms) * 1e3;
    return *medians_us[i];
  };

  const auto children = children_of(rows);
  std::vector<double> estimates_us;
  for (std::size_t region = 0; region < rows.size(); ++region) {
    const auto& inner = children[region];
    if (inner.size() < 2 || !is_timed(region)) continue;
    if (!std::all_of(inner.begin(), inner.end(), is_timed)) continue;
    double sum_us = 0.0;
    for (const std::size_t child : inner)
      sum_us += median_us(child);
    const double excess_us = sum_us - median_us(region);
    if (excess_us < 0) continue;
    estimates_us.push_back(excess_us / (static_cast<double>(inner.size()) - 1.0));
  }
  if (estimates_us.empty()) return std::nullopt;
  const std::size_t regions = estimates_us.size();
  return NestedRegions{.bias_us = median(std::move(estimates_us)), .regions = regions};
}

}  // namespace inline_prof::join
