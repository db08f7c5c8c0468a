// The interpolation predictor for matrix products of the DLRM models:
// product_table.md beside this file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::model {

// b products C[m,n] = A[m,k] * B[k,n], in the order b, m, n, k.
using ProductShape = std::array<std::int64_t, 4>;

struct MeasuredProduct {
  ProductShape shape{};
  double time_us = 0.0;
};

// A GPU's rates, in GFLOP/s (a multiply-add is one operation) and GB/s (1e9 bytes).
struct ProductPeaks {
  double gflops = 0.0;
  double gb_per_s = 0.0;
};

struct ProductPrediction {
  std::string_view error;  // "" if there is a time; else how the original ends
  double time_us = 0.0;
  bool is_measured = false;   // the shape stands in the table; nothing below holds then
  std::size_t unmatched = 0;  // sizes that stand in no row of the table
  std::size_t corners = 0;    // measured products that surround the shape
  ProductPeaks effective;     // what they say the GPU does with it
  double operations = 0.0;
  double bytes = 0.0;
  bool by_memory = false;
};

// The first of several rows of one shape counts.
using ProductTable = std::vector<MeasuredProduct>;
[[nodiscard]] ProductPrediction predict_product(const ProductTable& table,
                                                const ProductShape& shape,
                                                const ProductPeaks& peaks);

// Measured products as a microbenchmark of cuBLAS prints them: batch_size, M, N, K,
// kernel_runtime (us), kernel_name; ours say the type of A, too.
struct ProductFile {
  // By the type of A: f32 where the table does not say.
  std::map<std::string, ProductTable, std::less<>> tables;
  std::vector<std::string> warnings;  // what was left out, a sentence each
};

// Only rows whose kernel name starts with `kernel_prefix`; rows with an empty cell are left out, as
// by the original.  Throws read::InputError, also where no row is left.
[[nodiscard]] ProductFile read_product_file(const std::filesystem::path& file,
                                            const std::string& kernel_prefix);

}  // namespace inline_prof::model
