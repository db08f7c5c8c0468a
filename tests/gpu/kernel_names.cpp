// Prints how the analyzer reads kernels' names, for each line `KIND R S STRIDE M N K BATCH BLOCKS
// NAME` on stdin:
//
//   gemm  "TILE tile of the name, TILE splits SPLITS" or "-" for what is not found
//   conv  the algorithm, and the tile of its product; "-" for a name of no convolution
#include "model/calibrated/conv/conv_analytic.hpp"
#include "model/calibrated/gemm/gemm_analytic.hpp"

#include <fmt/format.h>

#include <iostream>
#include <string>

namespace {

using inline_prof::model::GemmShape;

std::string words_of_product(const std::string& name, const GemmShape& shape, double blocks) {
  // One block covers a single element, whatever the tile is: that leaves the name alone to tell.
  const auto named = inline_prof::model::gemm_kernel(name, GemmShape{}, 1);
  const auto launched = inline_prof::model::gemm_kernel(name, shape, blocks);
  return (named ? fmt::format("{}x{} ", named->tile_m, named->tile_n) : "- ") +
         (launched ? fmt::format("{}x{} {}", launched->tile_m, launched->tile_n, launched->splits)
                   : "- -");
}

std::string words_of_convolution(const std::string& name, double r, double s, double stride) {
  const auto kernel = inline_prof::model::parse_conv_kernel(name, r, s, stride);
  if (!kernel) return "- -";
  return fmt::format(
      "{} {}", conv_algorithm_name(kernel->algorithm),
      kernel->tile_m > 0 ? fmt::format("{}x{}", kernel->tile_m, kernel->tile_n) : "-");
}

}  // namespace

int main() {
  std::string kind, name;
  double r, s, stride, blocks;
  GemmShape shape;
  while (std::cin >> kind >> r >> s >> stride >> shape.m >> shape.n >> shape.k >> shape.batch >>
             blocks >> std::ws &&
         std::getline(std::cin, name)) {
    std::cout << (kind == "gemm" ? words_of_product(name, shape, blocks)
                                 : words_of_convolution(name, r, s, stride))
              << '\n';
  }
  return std::cin.eof() ? 0 : 1;
}
