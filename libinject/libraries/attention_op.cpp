#include "libraries/attention_op.hpp"

#include "libraries/vendor_cudnn.hpp"

#include <inline_prof/op_kind.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace inline_prof::libraries {
namespace {

constexpr std::size_t kDimensions = 4;
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
