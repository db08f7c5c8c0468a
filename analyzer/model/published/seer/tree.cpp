#include "model/published/seer/tree.hpp"

#include <stdexcept>

namespace inline_prof::model::seer {

double Tree::evaluate(std::span<const double> features) const {
  if (nodes.empty()) throw std::invalid_argument("a decision tree without nodes");
  std::size_t at = 0;
  while (nodes[at].feature >= 0) {
    const TreeNode& node = nodes[at];
    const auto feature = static_cast<std::size_t>(node.feature);
    if (feature >= features.size()) {
      throw std::invalid_argument("a decision tree tests a feature that was not given");
    }
    const std::int32_t next = features[feature] < node.threshold ? node.left : node.right;
    // Children stand behind their parent, so this ends.
    if (next <= static_cast<std::int32_t>(at) || static_cast<std::size_t>(next) >= nodes.size()) {
      throw std::invalid_argument("a decision tree with a wrong child index");
    }
    at = static_cast<std::size_t>(next);
  }
  return nodes[at].value;
}

}  // namespace inline_prof::model::seer
