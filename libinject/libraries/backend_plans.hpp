// cuDNN's graph API: which convolution, or which attention, an execution plan consists of.
//
// A finalized plan cannot be asked: it returns its engine configuration, engine and graph, but not
// the graph's operations (CUDNN_ATTR_OPERATIONGRAPH_OPS: CUDNN_STATUS_NOT_SUPPORTED in cuDNN
// 9.19).  So operations are read when the application puts them into a graph, their strides and
// paddings, and attention's tensors, when it sets them, and each descriptor made from another
// inherits its operation.
#pragma once

#include "libraries/vendor_cudnn.hpp"
#include "record/event_record.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace inline_prof::libraries {

// Called after the application has set or read an attribute that holds descriptors. `real` is the
// function that it called.
void note_descriptors_set(void* real, void* descriptor, int name, const void* elements,
                          std::int64_t count);
void note_descriptors_read(void* descriptor, const void* elements, std::int64_t count);
void forget_descriptor(const void* descriptor);

// Returns nothing if the plan has neither, or was made from a serialized form.
[[nodiscard]] std::optional<record::Op> operation_of_plan(const void* plan);

// The operations of cuDNN's descriptors: convolutions, of the older API or of a graph, and
// attention, which is one operation of a graph or the products and pointwise operations that make
// it up.

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
