// Binary decision trees: SEER asks one for the type of a kernel, one for its DRAM reads, one for
// its writes, and one for the variant that cuDNN picks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace inline_prof::model::seer {

struct TreeNode {
  std::int32_t feature = -1;  // index of the feature that is tested; -1: a leaf
  double threshold = 0.0;     // smaller goes left; anything else, a NaN too, goes right
  std::int32_t left = -1;     // indices of the children; both greater than the node's own
  std::int32_t right = -1;
  double value = 0.0;  // the class, or the mean of the rows that ended here while it was fitted
  std::int64_t row_count = 0;  // how many those were
};

// Node 0 is the root.
struct Tree {
  std::vector<TreeNode> nodes;

  // The value of the leaf that `features` fall into.
  // Throws std::invalid_argument if the tree is empty or tests a feature that is not there.
  [[nodiscard]] double evaluate(std::span<const double> features) const;
};

}  // namespace inline_prof::model::seer
