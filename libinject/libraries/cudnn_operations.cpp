#include "libraries/cudnn_operations.hpp"

#include "libraries/vendor_cudnn.hpp"

#include <inline_prof/op_kind.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace inline_prof::libraries {
namespace {

constexpr std::size_t kDimensions = 4;

// A dimension of one element can have any stride.
const char* layout_of(const Convolution& convolution) {
  const auto& size = convolution.image;
  const auto& stride = convolution.image_strides;
  const auto is = [&](std::size_t dimension, std::int64_t expected) {
    return size[dimension] == 1 || stride[dimension] == expected;
  };
  const auto c = size[1], h = size[2], w = size[3];
  if (is(3, 1) && is(2, w) && is(1, h * w) && is(0, c * h * w)) return "nchw";
  if (is(1, 1) && is(3, c) && is(2, w * c) && is(0, h * w * c)) return "nhwc";
  return nullptr;
}

// Returns one number if the dimensions agree.
record::OpValue value_of(const std::vector<std::int64_t>& values) {
  if (values[0] == values[1]) return values[0];
  return values;
}

// Forward: queries with keys, scores with values. Backward: queries with keys again, and four
// gradients.
constexpr std::ptrdiff_t kForwardProducts = 2;
constexpr std::ptrdiff_t kBackwardProducts = 5;

std::optional<record::Op> described(const GraphTensor& queries, std::int64_t kv_heads,
                                    std::int64_t kv_length, bool is_causal, bool is_backward,
                                    const char* source) {
  if (queries.type == nullptr) return std::nullopt;
  return record::Op{.kind = std::string(op_kind_name(OpKind::kAttention)),
                    .attributes = {{"batch", queries.sizes[0]},
                                   {"heads", queries.sizes[1]},
                                   {"kv_heads", kv_heads},
                                   {"q_len", queries.sizes[2]},
                                   {"kv_len", kv_length},
                                   {"head_dim", queries.sizes[3]},
                                   {"causal", is_causal},
                                   {"type", queries.type},
                                   {"pass", is_backward ? "backward" : "forward"}},
                    .source = source};
}

}  // namespace

std::optional<record::Op> conv_op(const Convolution& convolution, const char* source) {
  for (const auto* each :
       {&convolution.image, &convolution.image_strides, &convolution.filter, &convolution.output}) {
    if (each->size() != kDimensions) return std::nullopt;
  }
  for (const auto* each : {&convolution.stride, &convolution.pad, &convolution.dilation}) {
    if (each->size() != 2) return std::nullopt;
  }
  const char* layout = layout_of(convolution);
  if (layout == nullptr || convolution.type == nullptr) return std::nullopt;
  // One after the other: as one list they take more stack than a hook may have.
  record::Op op{
      .kind = std::string(op_kind_name(OpKind::kConv)), .attributes = {}, .source = source};
  using Size = std::pair<const char*, std::int64_t>;
  for (const auto& [name, value] :
       {Size{"n", convolution.image[0]}, Size{"c", convolution.image[1]},
        Size{"h", convolution.image[2]}, Size{"w", convolution.image[3]},
        Size{"k", convolution.output[1]}, Size{"r", convolution.filter[2]},
        Size{"s", convolution.filter[3]}, Size{"p", convolution.output[2]},
        Size{"q", convolution.output[3]}}) {
    op.attributes.emplace_back(name, value);
  }
  op.attributes.emplace_back("stride", value_of(convolution.stride));
  op.attributes.emplace_back("pad", value_of(convolution.pad));
  op.attributes.emplace_back("dilation", value_of(convolution.dilation));
  op.attributes.emplace_back("groups", convolution.groups);
  op.attributes.emplace_back("type", std::string(convolution.type));
  op.attributes.emplace_back("layout", std::string(layout));
  op.attributes.emplace_back("direction", std::string(convolution.direction));
  if (convolution.algorithm >= 0) op.attributes.emplace_back("algo", convolution.algorithm);
  return op;
}

std::optional<record::Op> attention_op(const std::vector<GraphPart>& parts, const char* source) {
  using Kind = GraphPart::Kind;
  const GraphPart* scores = nullptr;
  std::ptrdiff_t products = 0;
  bool has_exponents = false;
  bool compares_places = false;
  for (const GraphPart& part : parts) {
    if (part.kind == Kind::kForward || part.kind == Kind::kBackward) {
      if (part.first.sizes.size() != kDimensions || part.second.sizes.size() != kDimensions)
        return std::nullopt;
      return described(part.first, part.second.sizes[1], part.second.sizes[2], false,
                       part.kind == Kind::kBackward, source);
    }
    if (part.kind == Kind::kPointwise) {
      has_exponents = has_exponents || part.mode == cudnn::kExponent;
      compares_places = compares_places || part.mode == cudnn::kGreaterOrEqual;
    }
    if (part.kind != Kind::kProduct) continue;
    ++products;
    // Both factors come from memory only where queries meet keys.
    if (scores == nullptr && !part.first.is_virtual && part.result.is_virtual) scores = &part;
  }
  const bool is_backward = products == kBackwardProducts;
  if (scores == nullptr || !has_exponents || (products != kForwardProducts && !is_backward))
    return std::nullopt;
  for (const GraphTensor* each : {&scores->first, &scores->second, &scores->result})
    if (each->sizes.size() != kDimensions) return std::nullopt;
  return described(scores->first, scores->second.sizes[1], scores->result.sizes[3], compares_places,
                   is_backward, source);
}

}  // namespace inline_prof::libraries
