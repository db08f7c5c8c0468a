#include "join/place/device_time.hpp"

#include <algorithm>

namespace inline_prof::join {

DeviceTime::DeviceTime(const Placement& placement, const DevicePlacement& device)
    : placement_(placement), spans_(device.lanes) {
  for (const std::size_t row : device.rows) {
    const Place& place = placement.places.at(row);
    spans_[place.lane].push_back({place.start_us, place.end_us});
  }
}

double DeviceTime::exposed_us(std::size_t row, double us) const {
  const auto own = placement_.places.find(row);
  if (own == placement_.places.end()) return us;
  const double start_us = own->second.start_us;
  const double end_us = start_us + us;
  std::vector<Span> others;
  for (std::size_t lane = 0; lane < spans_.size(); ++lane) {
    if (lane == own->second.lane) continue;
    const auto& spans = spans_[lane];
    auto span = std::ranges::partition_point(
        spans, [&](const Span& other) { return other.end_us <= start_us; });
    for (; span != spans.end() && span->start_us < end_us; ++span)
      others.push_back(*span);
  }
  std::ranges::sort(others, {}, &Span::start_us);
  double exposed_us = 0.0;
  double at_us = start_us;
  for (const Span& other : others) {
    exposed_us += std::max(0.0, other.start_us - at_us);
    at_us = std::max(at_us, std::min(other.end_us, end_us));
  }
  return exposed_us + end_us - at_us;
}

}  // namespace inline_prof::join
