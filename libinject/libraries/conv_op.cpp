#include "libraries/conv_op.hpp"

#include <inline_prof/op_kind.hpp>

#include <cstddef>
#include <string>
#include <utility>

namespace inline_prof::libraries {
namespace {

constexpr std::size_t kConvDimensions = 4;  // two of them spatial

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

}  // namespace

std::optional<record::Op> conv_op(const Convolution& convolution, const char* source) {
  for (const auto* each :
       {&convolution.image, &convolution.image_strides, &convolution.filter, &convolution.output}) {
    if (each->size() != kConvDimensions) return std::nullopt;
  }
  for (const auto* each : {&convolution.stride, &convolution.pad, &convolution.dilation}) {
    if (each->size() != 2) return std::nullopt;
  }
  const char* layout = layout_of(convolution);
  if (layout == nullptr || convolution.type == nullptr) return std::nullopt;
  record::Op op{.kind = std::string(op_kind_name(OpKind::kConv)),
                .attributes = {{"n", convolution.image[0]},
                               {"c", convolution.image[1]},
                               {"h", convolution.image[2]},
                               {"w", convolution.image[3]},
                               {"k", convolution.output[1]},
                               {"r", convolution.filter[2]},
                               {"s", convolution.filter[3]},
                               {"p", convolution.output[2]},
                               {"q", convolution.output[3]},
                               {"stride", value_of(convolution.stride)},
                               {"pad", value_of(convolution.pad)},
                               {"dilation", value_of(convolution.dilation)},
                               {"groups", convolution.groups},
                               {"type", convolution.type},
                               {"layout", layout},
                               {"direction", convolution.direction}},
                .source = source};
  if (convolution.algorithm >= 0) op.attributes.emplace_back("algo", convolution.algorithm);
  return op;
}

}  // namespace inline_prof::libraries
