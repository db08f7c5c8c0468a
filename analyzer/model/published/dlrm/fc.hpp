// Fully connected layers of DLRM as a model of tables (product_table.hpp).
#pragma once

#include "model/model.hpp"
#include "model/published/dlrm/product_table.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace inline_prof::model {

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

[[nodiscard]] ModelEntry fc_entry();

}  // namespace inline_prof::model
