// About 200 products that tell the parameters of a product model apart
// (docs/models/matrix_products.md).
#pragma once

#include <cstdint>
#include <vector>

namespace inline_prof::measure {

struct Product {
  std::int64_t m, n, k;
};

// 60 shapes spread evenly over the logarithms of 16 to 32768 (Halton's sequence), 40 whose tiles of
// 128 x 128 fill whole waves or one tile more, 50 with few rows or columns, 30 that differ in depth
// alone, 20 long ones.  All sides are multiples of `multiple`, which some types need.
[[nodiscard]] std::vector<Product> gemm_grid(std::int64_t sm_count, std::int64_t multiple);

}  // namespace inline_prof::measure
