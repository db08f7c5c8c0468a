#include "model/calibrated/conv/conv_kernel.hpp"

#include <array>
#include <cctype>
#include <charconv>

namespace inline_prof::model {
namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

struct Tile {
  double m = 0, n = 0;
};

// The first "AxB" between two separators: "ampere_sgemm_128x64_nn", "..._tilesize128x128x64_...".
Tile find_tile(std::string_view name) {
  for (std::size_t x = name.find('x'); x != std::string_view::npos; x = name.find('x', x + 1)) {
    std::size_t first = x;
    while (first > 0 && is_digit(name[first - 1]))
      --first;
    std::size_t last = x + 1;
    while (last < name.size() && is_digit(name[last]))
      ++last;
    if (first == x || last == x + 1) continue;
    Tile tile;
    std::from_chars(name.data() + first, name.data() + x, tile.m);
    std::from_chars(name.data() + x + 1, name.data() + last, tile.n);
    constexpr double least = 8;  // "sliced1x2" is no tile
    constexpr double most = 512;
    if (tile.m >= least && tile.n >= least && tile.m <= most && tile.n <= most) return tile;
  }
  return {};
}

// "..._tile148t_...": 1 image, 4 x 8 tiles.
std::array<double, 3> find_winograd_tile(std::string_view name) {
  constexpr std::string_view word = "_tile";
  const std::size_t place = name.find(word);
  if (place == std::string_view::npos || place + word.size() + 3 > name.size()) return {};
  std::array<double, 3> tile{};
  for (std::size_t i = 0; i < tile.size(); ++i) {
    const char c = name[place + word.size() + i];
    if (!is_digit(c) || c == '0') return {};
    tile[i] = c - '0';
  }
  return tile;
}

bool contains(std::string_view name, std::string_view word) {
  return name.find(word) != std::string_view::npos;
}

}  // namespace

std::string_view conv_algorithm_name(ConvAlgorithm algorithm) {
  switch (algorithm) {
    case ConvAlgorithm::kImplicitGemm:
      return "implicit_gemm";
    case ConvAlgorithm::kPlainImplicitGemm:
      return "plain_implicit_gemm";
    case ConvAlgorithm::kExplicitGemm:
      return "explicit_gemm";
    case ConvAlgorithm::kWinograd:
      return "winograd";
    case ConvAlgorithm::kWinogradNonfused:
      return "winograd_nonfused";
    case ConvAlgorithm::kFft:
      return "fft";
  }
  return "";
}

std::optional<ConvKernel> parse_conv_kernel(std::string_view name, double r, double s,
                                            double stride) {
  const Tile tile = find_tile(name);
  ConvKernel kernel{.algorithm = ConvAlgorithm::kImplicitGemm,
                    .tile_m = tile.m,
                    .tile_n = tile.n,
                    .winograd_tile = {}};
  // The first of a call's kernels may be the one that prepares the image.
  if (contains(name, "winograd_nonfused")) {
    kernel.algorithm = ConvAlgorithm::kWinogradNonfused;
    return kernel;
  }
  if (contains(name, "im2col")) {
    kernel.algorithm = ConvAlgorithm::kExplicitGemm;
    return kernel;
  }
  if (contains(name, "winograd")) {
    kernel.algorithm = ConvAlgorithm::kWinograd;
    kernel.winograd_tile = find_winograd_tile(name);
    return kernel;
  }
  if (contains(name, "gcgemm") || contains(name, "cgemm") || contains(name, "fft")) {
    kernel.algorithm = ConvAlgorithm::kFft;
    return kernel;
  }
  if (contains(name, "explicit_convolve")) {
    kernel.algorithm = ConvAlgorithm::kExplicitGemm;
    return kernel;
  }
  if (contains(name, "implicit_convolve") || contains(name, "precomputed_convolve")) {
    kernel.algorithm = ConvAlgorithm::kPlainImplicitGemm;
    return kernel;
  }
  for (const std::string_view word : {"scudnn", "hcudnn", "convolve", "cudnn", "implicit_gemm",
                                      "fprop", "dgrad", "wgrad", "884", "1688", "16816"}) {
    if (contains(name, word)) return kernel;
  }
  if (contains(name, "gemm")) {
    const bool has_winograd = r == 3 && s == 3 && stride == 1;
    kernel.algorithm =
        has_winograd ? ConvAlgorithm::kWinogradNonfused : ConvAlgorithm::kExplicitGemm;
    return kernel;
  }
  return std::nullopt;
}

}  // namespace inline_prof::model
