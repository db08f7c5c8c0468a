// The command line.
#pragma once

#include <optional>
#include <string>

namespace allreduce {

struct Options {
  int ranks = 2;
  int layers = 4;
  int width = 4096;   // inputs and outputs of each layer
  int batch = 8192;   // samples of each rank
  int imbalance = 0;  // percent that the last rank's batch is larger by
  int iterations = 2500;
  float learning_rate = 0.01F;
  std::string id_file;  // for ranks that a launcher has started
};

// Returns the exit status if the program ends here: 0 after --help, 2 for a wrong command line.
std::optional<int> parse_options(int argc, char** argv, Options& options);

}  // namespace allreduce
