// Makes a convolution from the descriptors of cuDNN's older API or of its graph API.
#pragma once

#include "record/event_record.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace inline_prof::libraries {

// Images are {n, channels, h, w}, the filter {k, c / groups, r, s}.
struct Convolution {
  const char* direction = nullptr;  // "forward", "backward_data", "backward_filter"
  const char* type = nullptr;
  std::vector<std::int64_t> image;
  std::vector<std::int64_t> image_strides;
  std::vector<std::int64_t> filter;
  std::vector<std::int64_t> output;
  std::vector<std::int64_t> stride;
  std::vector<std::int64_t> pad;
  std::vector<std::int64_t> dilation;
  std::int64_t groups = 1;
  std::int64_t algorithm = -1;  // cuDNN's enumerator; -1: unknown
};

// Returns nothing if prof.json cannot express it: not two spatial dimensions, a layout that is
// neither NCHW nor NHWC, or another data type. `source`: the function that was called.
[[nodiscard]] std::optional<record::Op> conv_op(const Convolution& convolution, const char* source);

}  // namespace inline_prof::libraries
