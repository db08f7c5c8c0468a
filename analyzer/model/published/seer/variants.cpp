#include "model/published/seer/variants.hpp"

#include <algorithm>
#include <cmath>

namespace inline_prof::model::seer {
namespace {

double ceil_div(double value, std::int64_t by) {
  return std::ceil(value / static_cast<double>(by));
}

// F(4x4, 3x3) and F(9x9, 5x5): a tile of `outputs` x `outputs` is made of `products` = (outputs + k
// - 1)^2 independent matrix products.
struct WinogradTile {
  std::int64_t outputs;
  double products;
};

WinogradTile nonfused_tile(std::int64_t filter_width) {
  return filter_width == 3 ? WinogradTile{4, 36.0} : WinogradTile{9, 169.0};
}

}  // namespace

std::size_t find_variant(std::string_view name) {
  const auto* const it = std::find_if(kVariants.begin(), kVariants.end(),
                                      [&](const Variant& variant) { return variant.name == name; });
  return static_cast<std::size_t>(it - kVariants.begin());
}

VariantRange variants_of(Algorithm algorithm, std::int64_t filter_width) {
  VariantRange range;
  for (std::size_t i = 0; i < kVariants.size(); ++i) {
    const Variant& variant = kVariants[i];
    const bool fits = variant.filter_width == 0 || variant.filter_width == filter_width;
    if (variant.algorithm == algorithm && fits) range.index[range.size++] = i;
  }
  return range;
}

std::int64_t fft_width(std::int64_t in_width) {
  const auto* const it = std::lower_bound(kFftWidths.begin(), kFftWidths.end(), in_width);
  return it == kFftWidths.end() ? 0 : *it;
}

double launched_blocks(const Variant& variant, const read::SeerLayer& layer,
                       BlockCountRules rules) {
  const auto batch = static_cast<double>(layer.batch);
  const auto out_width = static_cast<double>(layer.out_width);
  const auto out_channels = static_cast<double>(layer.out_channels);
  switch (variant.algorithm) {
    case Algorithm::kWinograd: {
      const auto width =
          static_cast<double>(rules.winograd_tiles_input ? layer.in_width : layer.out_width);
      const double tiles = ceil_div(width, 2);  // F(2x2, 3x3)
      return ceil_div(batch, variant.images) * ceil_div(tiles, variant.rows) *
             ceil_div(tiles, variant.columns) * ceil_div(out_channels, 32);
    }
    case Algorithm::kWinogradNonfused: {
      const WinogradTile tile = nonfused_tile(variant.filter_width);
      const double tiles = ceil_div(out_width, tile.outputs);
      const std::int64_t columns = rules.nonfused_halves_columns ? 64 : variant.columns;
      return ceil_div(batch * tiles * tiles, variant.rows) * ceil_div(out_channels, columns) *
             tile.products;
    }
    default:
      return ceil_div(batch * out_width * out_width, variant.rows) *
             ceil_div(out_channels, variant.columns);
  }
}

std::size_t precomp_gemm_variant(std::int64_t out_channels) {
  const std::int64_t k = out_channels;
  if (k <= 32 || (k > 64 && k <= 96)) return 0;
  if (k <= 64 || (k > 128 && k <= 192) || (k > 256 && k <= 320)) return 1;
  return 2;
}

}  // namespace inline_prof::model::seer
