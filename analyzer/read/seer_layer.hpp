#pragma once

#include <cstdint>

namespace inline_prof::read {

// One convolution as SEER describes it: square images, square filters, one group, no dilation.
struct SeerLayer {
  std::int64_t batch = 0;
  std::int64_t in_channels = 0;
  std::int64_t in_width = 0;
  std::int64_t out_channels = 0;
  std::int64_t out_width = 0;
  std::int64_t filter_width = 0;
  std::int64_t stride = 0;
  std::int64_t padding = 0;

  friend bool operator==(const SeerLayer&, const SeerLayer&) = default;
};

}  // namespace inline_prof::read
