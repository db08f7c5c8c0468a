// The interpolation predictor for matrix products of the DLRM models:
// product_table.md beside this file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
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

class ProductTable {
 public:
  // The first of several rows of one shape counts.
  explicit ProductTable(std::vector<MeasuredProduct> rows);

  [[nodiscard]] ProductPrediction predict(const ProductShape& shape,
                                          const ProductPeaks& peaks) const;

 private:
  // Row numbers.  A range of an Index holds the rows that agree in the sizes before `depth`.
  using Range = std::span<const std::uint32_t>;
  // All rows, sorted by the sizes in `order`, then by place in the file.
  struct Index {
    std::array<std::size_t, 4> order{};
    std::vector<std::uint32_t> rows;
  };
  struct Corner;

  [[nodiscard]] std::int64_t value(std::uint32_t row, std::size_t size) const {
    return rows_[row].shape[size];
  }
  [[nodiscard]] Range equal(Range range, std::size_t size, std::int64_t value) const;
  void add_corners(const Index& index, std::size_t depth, Range range, const ProductShape& shape,
                   const Corner& corner, const ProductPeaks& peaks,
                   ProductPrediction& result) const;
  void add_corner(const Index& index, std::uint32_t row, const ProductShape& shape,
                  const Corner& corner, const ProductPeaks& peaks, ProductPrediction& result) const;

  std::vector<MeasuredProduct> rows_;
  std::array<std::vector<std::int64_t>, 4> values_;  // of each size, sorted, each once
  // By which sizes of a shape stand in the table (bit i for size i): those first, then the others,
  // both in the order b, m, n, k.
  std::array<Index, 16> indices_;
};

// Measured products as a microbenchmark of cuBLAS prints them: batch_size, M, N, K,
// kernel_runtime (us), kernel_name.
struct ProductFile {
  std::vector<MeasuredProduct> rows;
  std::vector<std::string> warnings;  // what was left out, a sentence each
};

// Only rows whose kernel name starts with `kernel_prefix`; rows with an empty cell are left out, as
// by the original.  Throws read::InputError, also where no row is left.
[[nodiscard]] ProductFile read_product_file(const std::filesystem::path& file,
                                            const std::string& kernel_prefix);

}  // namespace inline_prof::model
