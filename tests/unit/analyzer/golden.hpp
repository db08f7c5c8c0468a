// Compares a model with the numbers that the published code has printed (tests/data/golden).
#pragma once

#include "model/model.hpp"

#include <string>
#include <vector>

namespace inline_prof::test {

struct GoldenColumn {
  std::string column;         // of the file
  std::string part = column;  // of the model; "" is the time
  double tolerance = 1e-12;   // relative
  double scale = 1.0;         // 1e6 where the file has seconds and the model microseconds
};

// Fails for every cell of `columns` in `file` (below tests/data/golden) that the model does not
// give, an empty cell being nothing to give, and for every row whose exception, in `error_column`,
// is another one ("" = the file has no such column, and no row may fail).
void expect_golden(const std::string& model, const std::string& file,
                   const std::vector<GoldenColumn>& columns, const std::string& error_column,
                   model::ModelOptions options = {});

// The path of a file below tests/data/golden.
[[nodiscard]] std::string golden_path(const std::string& file);

}  // namespace inline_prof::test
