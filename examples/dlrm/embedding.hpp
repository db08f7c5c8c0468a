// The embedding tables: for each sample and table the sum of `bag` rows.  Tables in f32, vectors
// and their gradients in f16.
#pragma once

#include "gpu.hpp"
#include "shape.hpp"

#include <cstdint>
#include <string>

namespace dlrm {

class Embedding {
 public:
  Embedding(const Gpu& gpu, const Shape& shape, std::uint64_t seed);

  // Gives the vectors [batch, tables, dim].  `indices`: [batch, tables, bag].
  const __half* forward(const std::int32_t* indices);

  // Subtracts `step` times its gradient from each row that the batch used.  A row that was used
  // more than once gets the sum: the additions are atomic, hence in no fixed order.
  void backward_and_update(const std::int32_t* indices, const __half* gradient, float step);

 private:
  // The profiler's labels.  Built once: they depend on the bag, so they cannot be literals.
  struct Labels {
    explicit Labels(const std::string& event_name);
    std::string event, start, stop;
  };

  const Gpu& gpu_;
  Shape shape_;
  Labels forward_labels_;
  Labels update_labels_;
  DeviceArray<float> tables_;
  DeviceArray<__half> vectors_;
};

}  // namespace dlrm
