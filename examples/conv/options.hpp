// The command line.
#pragma once

#include "block.hpp"

#include <cstdint>
#include <optional>

namespace conv {

struct Options {
  int batch = 32;
  int channels = 64;
  int extent = 56;
  int iterations = 1000;
  int device = 0;
  std::uint64_t seed = 1;
  float learning_rate = 0.5F;

  BlockShape shape() const { return {batch, channels, extent}; }
};

// Returns the exit status if the program ends here: 0 after --help, 2 for a wrong command line.
std::optional<int> parse_options(int argc, char** argv, Options& options);

}  // namespace conv
