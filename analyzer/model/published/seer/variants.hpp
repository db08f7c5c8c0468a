// cuDNN's forward algorithms and the kernel variants that SEER tells apart, with what can be said
// of them before anything is measured: tiles, launched blocks, blocks that an SM can hold.
#pragma once

#include "read/seer_layer.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

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

// What limits a kernel: SEER's three types, in the numbers of its tables.
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

// Index into kVariants; kNoVariant if there is none of that name.
[[nodiscard]] std::size_t find_variant(std::string_view name);

// The variants of an algorithm that compute filters of this width, in the order of the classes of
// its variant tree: 3 for 0, 1, 2 and 6; 2 for 7 with width 3 or 5; else none.
struct VariantRange {
  std::array<std::size_t, 3> index{};
  std::size_t size = 0;
  [[nodiscard]] std::span<const std::size_t> view() const { return {index.data(), size}; }
};
[[nodiscard]] VariantRange variants_of(Algorithm algorithm, std::int64_t filter_width);

// Algorithms that are described by blocks and DRAM transactions (0, 1, 2, 6, 7).
[[nodiscard]] constexpr bool has_block_model(Algorithm algorithm) {
  return algorithm != Algorithm::kDirect && algorithm != Algorithm::kFft &&
         algorithm != Algorithm::kFftTiling;
}

// FFT has one set of coefficients for each of these image widths: the smallest that is not below
// Wi.  0: wider than all of them, so not computed.
inline constexpr std::array<std::int64_t, 5> kFftWidths = {16, 32, 64, 128, 256};
[[nodiscard]] std::int64_t fft_width(std::int64_t in_width);

// Two counts of the published program that no measured launch agrees with (docs/models/seer.md).
struct BlockCountRules {
  bool nonfused_halves_columns;  // 7, 128x128: blocks of 64 columns, though a tile has 128
  bool winograd_tiles_input;     // 6: tiles cover the input; they compute the output
};

// Blocks that the main kernel launches, L.  As a double: the product of six sizes need not fit in
// 64 bits, and all that can be launched is exact in 53.
[[nodiscard]] double launched_blocks(const Variant& variant, const read::SeerLayer& layer,
                                     BlockCountRules rules);

// 1 by its published rule on K; a tree answers for the others.
[[nodiscard]] std::size_t precomp_gemm_variant(std::int64_t out_channels);

}  // namespace inline_prof::model::seer
