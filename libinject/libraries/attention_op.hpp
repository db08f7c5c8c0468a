// Recognises attention in the operations of one of cuDNN's graphs: one operation, or the products
// and pointwise operations that make it up.
#pragma once

#include "record/event_record.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace inline_prof::libraries {

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
