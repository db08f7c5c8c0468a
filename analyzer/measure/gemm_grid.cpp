#include "measure/suites.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace inline_prof::measure {
namespace {

constexpr std::int64_t kTile = 128;

// Returns the i-th number of the van der Corput sequence: the digits of i behind the point, in
// reverse.
double halton(int index, int base) {
  double result = 0;
  double weight = 1;
  for (; index > 0; index /= base) {
    weight /= base;
    result += weight * (index % base);
  }
  return result;
}

std::int64_t between(double share, double log2_least, double log2_most) {
  return std::llround(std::exp2(log2_least + share * (log2_most - log2_least)));
}

class Grid {
 public:
  explicit Grid(std::int64_t multiple) : multiple_(multiple) {}

  void add(std::int64_t m, std::int64_t n, std::int64_t k) {
    const GridShape product{rounded(m), rounded(n), rounded(k)};
    if (seen_.emplace(product.m, product.n, product.k).second) products_.push_back(product);
  }
  [[nodiscard]] std::vector<GridShape> take() { return std::move(products_); }

 private:
  [[nodiscard]] std::int64_t rounded(std::int64_t side) const {
    return std::max(std::int64_t{1}, (side + multiple_ - 1) / multiple_) * multiple_;
  }

  std::int64_t multiple_;
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> seen_;
  std::vector<GridShape> products_;
};

void add_spread(Grid& grid) {
  for (int i = 1; i <= 60; ++i) {
    grid.add(between(halton(i, 2), 4, 15), between(halton(i, 3), 4, 15),
             between(halton(i, 5), 4, 13));
  }
}

// Adds full waves, and one tile more: they tell whether a started wave costs a whole one.
void add_waves(Grid& grid, std::int64_t sm_count) {
  for (const std::int64_t waves : {1, 2, 3, 5}) {
    for (const std::int64_t k : {512, 1024, 2048, 4096, 8192}) {
      const std::int64_t tiles = waves * sm_count;
      const auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(tiles)));
      std::int64_t across = side;
      while (tiles % across != 0)
        --across;
      grid.add(across * kTile, tiles / across * kTile, k);
      grid.add(kTile, (tiles + 1) * kTile, k);
    }
  }
}

void add_skinny(Grid& grid) {
  for (const std::int64_t few : {1, 2, 8, 16, 64}) {
    for (const std::int64_t n : {1024, 4096, 8192}) {
      grid.add(few, n, n);
      grid.add(n, few, n);
    }
    for (const std::int64_t k : {1024, 16384}) {
      grid.add(few, 12288, k);
      grid.add(12288, few, k);
    }
  }
}

void add_depths(Grid& grid) {
  for (std::int64_t k = 64; k <= 65536; k *= 2) {
    for (const std::int64_t side : {256, 512, 1024})
      grid.add(side, side, k);
  }
}

void add_long(Grid& grid) {
  for (const std::int64_t side : {6144, 8192, 10240, 12288, 16384}) {
    grid.add(side, side, side);
    grid.add(side, side, side / 2);
    grid.add(2 * side, side, side);
    grid.add(side, 2 * side, side);
  }
}

}  // namespace

std::vector<GridShape> gemm_grid(std::int64_t sm_count, std::int64_t multiple) {
  Grid grid(multiple);
  add_spread(grid);
  add_waves(grid, std::max<std::int64_t>(1, sm_count));
  add_skinny(grid);
  add_depths(grid);
  add_long(grid);
  return grid.take();
}

}  // namespace inline_prof::measure
