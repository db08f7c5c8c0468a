// SEER's parameters and what they describe: cuDNN's forward algorithms and the kernel variants that
// it tells apart, coefficients and decision trees of each, and the files that they stand in.
#pragma once

#include "model/model.hpp"
#include "read/seer_tables.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inline_prof::model::seer {

// cudnnConvolutionFwdAlgo_t.  SEER's README numbers 4 to 7 differently; its code and data use
// these.
enum class Algorithm : std::uint8_t {
  kImplicitGemm = 0,
  kImplicitPrecompGemm = 1,
  kGemm = 2,
  kDirect = 3,  // never implemented by cuDNN
  kFft = 4,
  kFftTiling = 5,
  kWinograd = 6,
  kWinogradNonfused = 7,
};
inline constexpr std::size_t kAlgorithmCount = 8;

[[nodiscard]] constexpr std::size_t index_of(Algorithm algorithm) {
  return static_cast<std::size_t>(algorithm);
}

// The resource that limits a kernel: SEER's three types, in the numbers of its tables.
enum class KernelType : std::int8_t { kUnknown = -1, kCompute = 0, kDram = 1, kUnderUtilised = 2 };

[[nodiscard]] constexpr bool is_winograd(Algorithm algorithm) {
  return algorithm == Algorithm::kWinograd || algorithm == Algorithm::kWinogradNonfused;
}

// One kernel of an algorithm.  A block makes `rows` x `columns` of the product: rows of N*Wo^2 (7:
// of its transformed tiles) and columns of K.  A block of 6 takes `rows` x `columns` tiles of 2 x 2
// outputs from `images` images, the digits of its name.
struct Variant {
  std::string_view name;  // as in file names and coefficient tables: "algo0_32x32"
  Algorithm algorithm;
  std::int64_t images;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t blocks_per_sm;  // on a Titan Xp; times its 30 SMs it is SEER's B_max
  std::int64_t filter_width;   // 7: the only one it computes; else 0
};

inline constexpr std::int64_t kTitanXpSms = 30;

// In the order of the classes that the variant trees answer with.
inline constexpr std::array<Variant, 16> kVariants = {{
    {"algo0_32x32", Algorithm::kImplicitGemm, 1, 32, 32, 8, 0},
    {"algo0_64x128", Algorithm::kImplicitGemm, 1, 64, 128, 4, 0},
    {"algo0_128x128", Algorithm::kImplicitGemm, 1, 128, 128, 4, 0},
    {"algo1_128x32", Algorithm::kImplicitPrecompGemm, 1, 128, 32, 5, 0},
    {"algo1_128x64", Algorithm::kImplicitPrecompGemm, 1, 128, 64, 4, 0},
    {"algo1_128x128", Algorithm::kImplicitPrecompGemm, 1, 128, 128, 2, 0},
    {"algo2_32x32", Algorithm::kGemm, 1, 32, 32, 16, 0},
    {"algo2_64x128", Algorithm::kGemm, 1, 64, 128, 2, 0},
    {"algo2_128x128", Algorithm::kGemm, 1, 128, 128, 2, 0},
    {"algo6_148", Algorithm::kWinograd, 1, 4, 8, 2, 0},
    {"algo6_228", Algorithm::kWinograd, 2, 2, 8, 2, 0},
    {"algo6_418", Algorithm::kWinograd, 4, 1, 8, 2, 0},
    {"algo7_128x64_3x3", Algorithm::kWinogradNonfused, 1, 128, 64, 4, 3},
    {"algo7_128x64_5x5", Algorithm::kWinogradNonfused, 1, 128, 64, 4, 5},
    {"algo7_128x128_3x3", Algorithm::kWinogradNonfused, 1, 128, 128, 2, 3},
    {"algo7_128x128_5x5", Algorithm::kWinogradNonfused, 1, 128, 128, 2, 5},
}};
inline constexpr std::size_t kNoVariant = kVariants.size();

// Returns the index into kVariants; kNoVariant if there is none of that name.
[[nodiscard]] std::size_t find_variant(std::string_view name);

// Returns the indices of the variants of an algorithm that compute filters of this width, in the
// order of the classes of its variant tree: 3 for 0, 1, 2 and 6; 2 for 7 with width 3 or 5; else
// none.
[[nodiscard]] std::vector<std::size_t> variants_of(Algorithm algorithm, std::int64_t filter_width);

// FFT has one set of coefficients for each of these image widths: the smallest that is not below
// Wi.  0: wider than all of them, so not computed.
inline constexpr std::array<std::int64_t, 5> kFftWidths = {16, 32, 64, 128, 256};
[[nodiscard]] std::int64_t fft_width(std::int64_t in_width);

// A layer's sizes in SEER's words: batch N, channels C and K, widths Wi and Wo, filter k, stride s.
struct Sizes {
  explicit Sizes(const read::SeerLayer& layer);

  double n, c, wi, k, wo, filter, stride;
  double volume;  // k^2 C
};

// Returns the blocks that the main kernel launches, L.  As a double: the product of six sizes need
// not fit in 64 bits, and all that can be launched is exact in 53.  The published program has two
// counts that no measured launch agrees with (README.md beside this file).
[[nodiscard]] double launched_blocks(const Variant& variant, const read::SeerLayer& layer,
                                     Edition edition);

// 1 by its published rule on K; a tree answers for the others.
[[nodiscard]] std::size_t precomp_gemm_variant(std::int64_t out_channels);

struct TreeNode {
  std::int32_t feature = -1;  // index of the feature that is tested; -1: a leaf
  double threshold = 0.0;     // smaller goes left; anything else, a NaN too, goes right
  std::int32_t left = -1;     // indices of the children; both greater than the node's own
  std::int32_t right = -1;
  double value = 0.0;  // the class, or the mean of the rows that ended here while it was fitted
  std::int64_t row_count = 0;  // how many those were
};

// Node 0 is the root; readers and fits make no other trees than those that hang together.
struct Tree {
  std::vector<TreeNode> nodes;

  // Returns the value of the leaf that `features` fall into.
  [[nodiscard]] double evaluate(std::span<const double> features) const;
};

// One of SEER's operators beside the convolution, as TensorFlow ran them.  With in = N Wi^2 C and
// out = N Wo^2 K elements, and mul = out k^2 C products:
//   maxpool              a out k + b in + c out + d
//   maxpool_grad         a out k + b in + c
//   conv_1x1_less128     a in + b out + c mul + d, K <= 128, rounded up to a multiple of 32
//   conv_1x1_larger128   a mul + b
//   data_layout          a in + b, NHWC to NCHW and back
//   conv_grad_...        forward time * tree(C, Wi, K, Wo, k, s)
// Its table, "Other-ops-<table>", has so many columns behind the layer; `column` is its own:
//   maxpool       forward, gradient
//   conv_1x1_*    time
//   data_layout   algorithm (-1), time
//   conv_grad     forward, input gradient, filter gradient, their sum, both over the forward time
struct OperatorEntry {
  std::string_view name;          // in tables and as the model of its coefficients
  std::size_t coefficient_count;  // 0: has a tree, rtree_<name>
  std::string_view table;
  std::size_t column_count, column;
};
inline constexpr std::array<OperatorEntry, 7> kOperators = {
    {{"maxpool", 4, "maxpool", 2, 0},
     {"maxpool_grad", 3, "maxpool", 2, 1},
     {"conv_1x1_less128", 4, "conv_1x1_less128", 1, 0},
     {"conv_1x1_larger128", 2, "conv_1x1_larger128", 1, 0},
     {"data_layout", 2, "data_layout", 2, 1},
     {"conv_grad_input", 0, "conv_grad", 6, 4},
     {"conv_grad_filter", 0, "conv_grad", 6, 5}}};
[[nodiscard]] const OperatorEntry* find_operator(std::string_view name);  // null: there is none

// Returns what the coefficients "poly" or "pre" of a model are multiplied with, in stored order.
[[nodiscard]] std::vector<double> linear_terms(std::string_view model,
                                               const read::SeerLayer& layer);

// Tiles of an image that algorithm 5 transforms; each overlaps its neighbours by a filter.
inline constexpr std::int64_t kFftTile = 32;
[[nodiscard]] double fft_tiles(const read::SeerLayer& layer);

// Returns how many coefficients a set has, in the order of README.md; 0: there is no such set.
//   flop (f), compute (c), dram (m), resource (u), pre (q: kernels beside the main one)
//   poly          algorithms 4 and 5, and the operators that are no convolution
//   any           as resource, fitted on the rows of all types: stands in for a type that had too
//                 few (never in the published program)
[[nodiscard]] std::size_t coefficient_count(std::string_view model, std::string_view kind);

// All that SEER has learnt: sets of coefficients by (model, kind), trees by name.  Models are
// variants ("algo0_32x32"), their helpers ("algo2_pre"), "algo4_16" ... "algo5", and operators
// ("maxpool").
struct Parameters {
  std::map<std::pair<std::string, std::string>, std::vector<double>, std::less<>> coefficients;
  std::map<std::string, Tree, std::less<>> trees;

  // Returns null if there is no such set.
  [[nodiscard]] const std::vector<double>* find(std::string_view model,
                                                std::string_view kind) const;
  // Return the same, or throw std::invalid_argument if there is none.
  [[nodiscard]] const std::vector<double>& need(std::string_view model,
                                                std::string_view kind) const;
  [[nodiscard]] const Tree& need_tree(std::string_view name) const;
  // Returns the milliseconds of a model that is linear in its coefficients.  Throws as need().
  [[nodiscard]] double linear_ms(std::string_view model, std::string_view kind,
                                 const read::SeerLayer& layer) const;
};

// Returns the names of the features of a tree, by the tree's name; empty if there is no tree of
// that name.
//   ctree_<variant>                      C, Wi, K, Wo, k, s, L                -> type
//   rtree_dread_<variant>, rtree_dwrite_ (0, 1, 2) C, Wi, K, Wo, k, s, L, k2C, k2C*K, Wo2*k2C
//                                        (6, 7)    C, Wi, K, Wo, k, s          -> read ratio; D
//   ctree_kernel_algo<0|2|6|7>, rtree_conv_grad_<input|filter>   C, Wi, K, Wo, k, s
//   ctree_algo5                          C, K, Wo, k                          -> type
[[nodiscard]] std::span<const std::string_view> tree_features(std::string_view tree);

// SEER's parameters from a file:
//   * "inline_prof_params/1" of the model seer, as seer_parameters_json() gives them, or
//   * a table of coefficients (columns model, kind, coef, and nlinfit or value) with its table of
//     trees beside it: the same folder, "coeffs" in the name replaced by "trees" (columns tree,
//     node, feature, feature_index, threshold, left, right, value, n).  Without that file there are
//     no trees.
// Throws read::InputError with its place: an unknown model, kind or tree, a coefficient given twice
// or left out, a tree that does not hang together.
[[nodiscard]] Parameters read_seer_parameters(const std::filesystem::path& file);

// Returns the "parameters" of a parameter file: a list of numbers for each set of
// coefficients, "MODEL KIND", and for each tree one of six numbers a node (feature, threshold,
// left, right, value, rows).
[[nodiscard]] nlohmann::json seer_parameters_json(const Parameters& parameters);

}  // namespace inline_prof::model::seer
