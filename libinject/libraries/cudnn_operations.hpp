// The operations of cuDNN's descriptors: convolutions, of the older API or of a graph, and
// attention, which is one operation of a graph or the products and pointwise operations that make
// it up.
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

struct GraphTensor {
  std::vector<std::int64_t> sizes;
  const char* type = nullptr;
  bool is_virtual = false;  // lives inside the graph's kernels only
};

// One operation of a graph.
struct GraphPart {
  enum class Kind : std::uint8_t { kOther, kProduct, kPointwise, kForward, kBackward };

  Kind kind = Kind::kOther;
  std::int64_t mode = -1;  // of a pointwise operation: cuDNN's enumerator
  // A product's factors and result. For attention in one operation: queries, keys, and nothing.
  GraphTensor first;
  GraphTensor second;
  GraphTensor result;
};

// Returns nothing if the parts are not attention of four-dimensional tensors {batch, heads, length,
// size}.
[[nodiscard]] std::optional<record::Op> attention_op(const std::vector<GraphPart>& parts,
                                                     const char* source);

}  // namespace inline_prof::libraries
