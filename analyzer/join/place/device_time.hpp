// When a device works, for what runs beside a row and what does not.
#pragma once

#include "join/place/placement.hpp"

#include <cstddef>
#include <vector>

namespace inline_prof::join {

class DeviceTime {
 public:
  // `placement` has to stay.
  DeviceTime(const Placement& placement, const DevicePlacement& device);

  // Returns how much of the row's first `us` nothing else runs in; all of them where it lies inside
  // another row.
  [[nodiscard]] double exposed_us(std::size_t row, double us) const;

 private:
  struct Span {
    double start_us = 0.0;
    double end_us = 0.0;
  };

  const Placement& placement_;
  std::vector<std::vector<Span>> spans_;  // by lane, in which none overlap
};

}  // namespace inline_prof::join
