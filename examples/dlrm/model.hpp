// The network of M. Naumov et al., "Deep learning recommendation model for personalization and
// recommendation systems", 2019, arXiv:1906.00091, in the sizes of NVIDIA's MLPerf entries.
#pragma once

#include "embedding.hpp"
#include "gpu.hpp"
#include "interaction.hpp"
#include "loss.hpp"
#include "mlp.hpp"
#include "shape.hpp"
#include "synthetic_data.hpp"

#include <cstdint>

namespace dlrm {

class Model {
 public:
  Model(const Gpu& gpu, const Shape& shape, float learning_rate, std::uint64_t seed);

  // One iteration: a new batch, forward, backward, update.  Only queues work on the GPU's stream.
  void train_step();

  // The mean loss of the steps since the last call.  Waits for the GPU.
  double take_mean_loss() { return loss_.take_mean(); }

 private:
  float step_;  // learning rate / loss scale
  SyntheticData data_;
  Embedding embedding_;
  Mlp bottom_;
  Interaction interaction_;
  Mlp top_;
  Loss loss_;
};

}  // namespace dlrm
