// The command line.
#pragma once

#include "shape.hpp"

#include <cstdint>
#include <optional>

namespace dlrm {

struct Options {
  int batch = 2048;
  int iterations = 5000;
  int tables = 26;
  int rows = 4096;
  int bag = 1;
  int dim = 128;
  int device = 0;
  std::uint64_t seed = 1;
  float learning_rate = 0.1F;

  Shape shape() const { return {batch, tables, rows, bag, dim}; }
};

// Returns the exit status if the program ends here: 0 after --help, 2 for a wrong command line.
std::optional<int> parse_options(int argc, char** argv, Options& options);

}  // namespace dlrm
