// A chain of fully connected layers with one optimiser step for all of them.
#pragma once

#include "fully_connected.hpp"
#include "gpu.hpp"
#include "sgd.hpp"

#include <string>
#include <vector>

namespace dlrm {

struct MlpShape {
  std::string name;  // what the profiler calls it, "TopMLP"
  int first_layer;   // its layers are fcN, fcN+1 ...
  int batch;
  std::vector<int> widths;  // inputs, then the outputs of each layer
  bool has_final_relu;
  bool has_input_gradient;
};

class Mlp {
 public:
  Mlp(const Gpu& gpu, const MlpShape& shape, unsigned seed);

  const __half* forward(const __half* input);
  // Takes and overwrites the output's gradient; gives the input's, or null if there is none.
  __half* backward(__half* output_gradient);
  // Subtracts `step` times its gradient from each parameter.
  void update(float step);

 private:
  void initialize(const MlpShape& shape, unsigned seed);

  const Gpu& gpu_;
  std::string name_;
  DenseParameters parameters_;  // of one layer after the other
  std::vector<FullyConnected> layers_;
};

}  // namespace dlrm
