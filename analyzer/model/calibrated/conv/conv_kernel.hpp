// What a kernel's name says about how a convolution is computed: SEER's variants, found in names
// instead of listed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace inline_prof::model {

enum class ConvAlgorithm : std::uint8_t {
  kImplicitGemm,       // a matrix product that gathers the image as it goes
  kPlainImplicitGemm,  // the same, compiled instead of written in assembly
  kExplicitGemm,       // the image is written out as a matrix first
  kWinograd,           // fused: F(2x2, 3x3)
  kWinogradNonfused,   // transforms around 36 matrix products: F(4x4, 3x3)
  kFft,
};
inline constexpr std::size_t kConvAlgorithmCount = 6;

[[nodiscard]] std::string_view conv_algorithm_name(ConvAlgorithm algorithm);

struct ConvKernel {
  ConvAlgorithm algorithm = ConvAlgorithm::kImplicitGemm;
  // Of the matrix product: rows and columns of C that a block computes, whichever is which; 0 if
  // the name has none.
  double tile_m = 0, tile_n = 0;
  // Of the fused Winograd: images, rows and columns of 2x2 tiles a block; 0 if the name has none.
  std::array<double, 3> winograd_tile{};
};

// The kernel of a convolution with filters of r x s and this stride; empty if the name is of no
// kernel that is known to compute one.  A plain sgemm computes the products of a Winograd where
// there can be one, else those of an image written out as a matrix.
[[nodiscard]] std::optional<ConvKernel> parse_conv_kernel(std::string_view name, double r, double s,
                                                          double stride);

}  // namespace inline_prof::model
