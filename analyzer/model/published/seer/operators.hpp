// SEER's operators beside the convolution, as TensorFlow ran them: linear models of the elements
// that go in and out, and gradients as a ratio to the forward time.
#pragma once

#include "model/published/seer/parameters.hpp"
#include "read/seer_layer.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace inline_prof::model::seer {

// With in = N Wi^2 C and out = N Wo^2 K elements, and mul = out k^2 C products:
enum class Operator : std::uint8_t {
  kMaxPool,          // a out k + b in + c out + d
  kMaxPoolGradient,  // a out k + b in + c
  kPointwiseNarrow,  // 1x1 convolution, K <= 128, K rounded up to a multiple of 32:
                     // a in + b out + c mul + d
  kPointwiseWide,    // 1x1 convolution, K > 128: a mul + b
  kDataLayout,       // NHWC to NCHW and back: a in + b
  kInputGradient,    // forward time * tree(C, Wi, K, Wo, k, s)
  kFilterGradient,   // the same
};

struct OperatorEntry {
  std::string_view name;  // in tables and as the model of its coefficients
  Operator which;
  std::size_t coefficient_count;  // 0: has a tree, rtree_<name>
};
inline constexpr std::array<OperatorEntry, 7> kOperators = {{
    {"maxpool", Operator::kMaxPool, 4},
    {"maxpool_grad", Operator::kMaxPoolGradient, 3},
    {"conv_1x1_less128", Operator::kPointwiseNarrow, 4},
    {"conv_1x1_larger128", Operator::kPointwiseWide, 2},
    {"data_layout", Operator::kDataLayout, 2},
    {"conv_grad_input", Operator::kInputGradient, 0},
    {"conv_grad_filter", Operator::kFilterGradient, 0},
}};
[[nodiscard]] const OperatorEntry* find_operator(std::string_view name);  // null: there is none

// What the coefficients are multiplied with, in stored order.  Empty for the gradients.
[[nodiscard]] std::vector<double> operator_terms(Operator which, const read::SeerLayer& layer);

// Milliseconds.  `forward_ms` is asked for by the gradients only.
// Throws std::invalid_argument if the parameters lack the operator's, or a gradient has no forward
// time.
[[nodiscard]] double predict_operator(const Parameters& parameters, const OperatorEntry& entry,
                                      const read::SeerLayer& layer,
                                      std::optional<double> forward_ms = std::nullopt);

}  // namespace inline_prof::model::seer
