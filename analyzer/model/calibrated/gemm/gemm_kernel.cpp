#include "model/calibrated/gemm/gemm_kernel.hpp"

#include <array>
#include <cctype>
#include <cmath>
#include <utility>

namespace inline_prof::model {
namespace {

constexpr double kLeastSide = 8, kLargestSide = 512;
constexpr double kMostSplits = 32;

bool is_decimal_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// The number that begins at `place`, which moves behind it; 0 where there is none.
double number_at(std::string_view text, std::size_t& place) {
  double number = 0;
  for (; place < text.size() && is_decimal_digit(text[place]); ++place)
    number = 10 * number + (text[place] - '0');
  return number;
}

bool is_side(double side) {
  return side >= kLeastSide && side <= kLargestSide && std::fmod(side, 8) == 0;
}

// The first "AxB" whose numbers can be sides of a tile.
std::optional<std::pair<double, double>> tile_in(std::string_view name) {
  for (std::size_t place = 0; place < name.size(); ++place) {
    if (!is_decimal_digit(name[place]) || (place > 0 && is_decimal_digit(name[place - 1])))
      continue;
    std::size_t next = place;
    const double first = number_at(name, next);
    if (next + 1 >= name.size() || name[next] != 'x') continue;
    ++next;
    const double second = number_at(name, next);
    if (is_side(first) && is_side(second)) return std::pair(first, second);
  }
  return std::nullopt;
}

// A split of k, if the blocks are a whole number of covers of C; else 0.
double splits_of(const GemmShape& shape, double tile_m, double tile_n, double blocks) {
  const double cover = std::ceil(shape.m / tile_m) * std::ceil(shape.n / tile_n) * shape.batch;
  const double splits = blocks / cover;
  return splits >= 1 && splits <= kMostSplits && splits == std::floor(splits) ? splits : 0;
}

}  // namespace

std::optional<GemmKernel> gemm_kernel(std::string_view name, const GemmShape& shape,
                                      double blocks) {
  const auto tile = tile_in(name);
  if (!tile) return std::nullopt;
  const auto [columns, rows] = *tile;
  for (const auto& [m, n] : {std::pair(rows, columns), std::pair(columns, rows)}) {
    const double splits = splits_of(shape, m, n, blocks);
    if (splits > 0) return GemmKernel{.tile_m = m, .tile_n = n, .splits = splits};
  }
  return std::nullopt;
}

}  // namespace inline_prof::model
