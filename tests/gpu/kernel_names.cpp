// Prints how the analyzer reads kernels' names, for each line `KIND R S STRIDE ROWS COLUMNS K BATCH
// BLOCKS NAME` on stdin:
//
//   gemm  "TILE tile of the name, TILE splits SPLITS" or "-" for what is not found
//   conv  the algorithm, and the tile of its product; "-" for a name of no convolution
#include "model/calibrated/conv/conv_analytic.hpp"
#include "model/calibrated/gemm/gemm_analytic.hpp"

#include <iostream>
#include <sstream>
#include <string>

namespace {

using inline_prof::model::GemmShape;

std::string tile_of(double m, double n) {
  std::ostringstream words;
  words << m << 'x' << n;
  return words.str();
}

std::string words_of_product(const std::string& name, const GemmShape& shape, double blocks) {
  // One block covers a single element, whatever the tile is: that leaves the name alone to tell.
  const auto named = inline_prof::model::gemm_kernel(name, GemmShape{}, 1);
  const auto launched = inline_prof::model::gemm_kernel(name, shape, blocks);
  std::ostringstream words;
  words << (named ? tile_of(named->tile_m, named->tile_n) : "-") << ' ';
  if (launched) {
    words << tile_of(launched->tile_m, launched->tile_n) << ' ' << launched->splits;
  } else {
    words << "- -";
  }
  return words.str();
}

std::string words_of_convolution(const std::string& name, double r, double s, double stride) {
  const auto kernel = inline_prof::model::parse_conv_kernel(name, r, s, stride);
  if (!kernel) return "- -";
  return std::string(conv_algorithm_name(kernel->algorithm)) + ' ' +
         (kernel->tile_m > 0 ? tile_of(kernel->tile_m, kernel->tile_n) : "-");
}

}  // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string kind;
    double r = 0;
    double s = 0;
    double stride = 0;
    GemmShape shape;
    double blocks = 0;
    std::string name;
    words >> kind >> r >> s >> stride >> shape.m >> shape.n >> shape.k >> shape.batch >> blocks;
    if (!words || !std::getline(words >> std::ws, name) || (kind != "gemm" && kind != "conv")) {
      std::cerr << "kernel_words: expected KIND R S STRIDE M N K BATCH BLOCKS NAME, found: " << line
                << '\n';
      return 1;
    }
    std::cout << (kind == "gemm" ? words_of_product(name, shape, blocks)
                                 : words_of_convolution(name, r, s, stride))
              << '\n';
  }
  return 0;
}
