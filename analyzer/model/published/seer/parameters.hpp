#pragma once

#include "model/published/seer/tree.hpp"
#include "model/published/seer/variants.hpp"

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::model::seer {

// The sets of coefficients, in stored order:
//   flop          f1, f2            I = f1 * x + f2
//   compute       c1, c2            T = G (c1 B I + c2)
//   dram          m1, m2            T = m1 L (R + D) + m2
//   resource      u1, u2, u3, u4    T = L (u1 R + u4 D) + u2 G B I + u3
//   pre           q1, q2 ...        kernels beside the main one: 3 for algorithm 2, 4 for 7
//   poly          a, b ...          algorithms 4 and 5, and the operators that are no convolution
//   any           u1 ... u4         as resource, fitted on the rows of all types: stands in for a
//                                   type that had too few (never in the published program)
// Times in milliseconds.  How many coefficients a set has; 0: there is no such set.
[[nodiscard]] std::size_t coefficient_count(std::string_view model, std::string_view kind);

// All that SEER has learnt: sets of coefficients by (model, kind), trees by name.  Models are
// variants ("algo0_32x32"), their helpers ("algo2_pre"), "algo4_16" ... "algo5", and operators
// ("maxpool").
struct Parameters {
  std::map<std::pair<std::string, std::string>, std::vector<double>, std::less<>> coefficients;
  std::map<std::string, Tree, std::less<>> trees;

  // Null if there is no such set, or if it has another number of coefficients.
  [[nodiscard]] const std::vector<double>* find(std::string_view model, std::string_view kind,
                                                std::size_t count) const;
  [[nodiscard]] const Tree* find_tree(std::string_view name) const;
};

// The names of the features of a tree, by the tree's name; empty if there is no tree of that name.
//   ctree_<variant>                      C, Wi, K, Wo, k, s, L                -> type
//   rtree_dread_<variant>, rtree_dwrite_ (0, 1, 2) C, Wi, K, Wo, k, s, L, k2C, k2C*K, Wo2*k2C
//                                        (6, 7)    C, Wi, K, Wo, k, s          -> read ratio; D
//   ctree_kernel_algo<0|2|6|7>, rtree_conv_grad_<input|filter>   C, Wi, K, Wo, k, s
//   ctree_algo5                          C, K, Wo, k                          -> type
[[nodiscard]] std::span<const std::string_view> tree_features(std::string_view tree);

}  // namespace inline_prof::model::seer
