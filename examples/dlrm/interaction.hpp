// The dot interaction: every pair of a sample's vectors gives one feature.
#pragma once

#include "gpu.hpp"
#include "shape.hpp"

namespace dlrm {

class Interaction {
 public:
  Interaction(const Gpu& gpu, const Shape& shape);

  // Gives [batch, interaction_width]: the dense vector, then the dot product of vectors i and j for
  // all i > j, then zeros.  Vector 0 is the dense one, vector t + 1 that of table t.
  // `dense`: [batch, dim].  `embedded`: [batch, tables, dim].
  const __half* forward(const __half* dense, const __half* embedded);

  // From the gradient of what forward gave to those of its arguments, which must still be there.
  void backward(const __half* dense, const __half* embedded, const __half* gradient);
  __half* dense_gradient() const { return dense_gradient_.data(); }
  const __half* embedded_gradient() const { return embedded_gradient_.data(); }

  // Shared memory that a block of either kernel takes at most.
  static std::size_t shared_bytes(const Shape& shape);

 private:
  const Gpu& gpu_;
  Shape shape_;
  DeviceArray<__half> output_;
  DeviceArray<__half> dense_gradient_;
  DeviceArray<__half> embedded_gradient_;
};

}  // namespace dlrm
