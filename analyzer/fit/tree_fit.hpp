// Decision trees from samples.
#pragma once

#include "model/published/seer/parameters.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace inline_prof::fit {

enum class TreeKind : std::uint8_t {
  kClass,       // values are small integers >= 0; leaves answer the most frequent one
  kRegression,  // leaves answer the mean
};

struct TreeSample {
  std::vector<double> features;
  double value = 0.0;
};

struct TreeOptions {
  std::size_t max_splits = 64;
  std::size_t min_parent_rows = 10;  // smaller nodes are leaves
};

// A tree by CART: nodes are split in layers, breadth first, each where the impurity falls most
// (Gini's for classes, the squared deviation for a regression).  Ties go to the first feature, then
// to the smallest threshold, and where a layer would exceed `max_splits` to the nodes that gain
// most. The same samples give the same tree.
//
// Source: L. Breiman, J. Friedman, R. Olshen, C. Stone, "Classification and Regression Trees",
// Wadsworth, 1984; the limits and the order are those of MATLAB's fitctree and fitrtree as SEER
// calls them.
//
// Throws std::invalid_argument for no samples or rows of different length.
[[nodiscard]] model::seer::Tree fit_tree(std::span<const TreeSample> samples, TreeKind kind,
                                         const TreeOptions& options = {});

}  // namespace inline_prof::fit
