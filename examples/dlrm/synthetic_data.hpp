// Batches that can be learnt: a hidden rule decides how likely a click is, and a coin decides
// whether it happens.  Made on the GPU, so that the application need not wait.
#pragma once

#include "gpu.hpp"
#include "shape.hpp"

#include <cstdint>

namespace dlrm {

class SyntheticData {
 public:
  SyntheticData(const Gpu& gpu, const Shape& shape, std::uint64_t seed);

  // Replaces the batch, on the GPU's stream.
  void next();

  const __half* dense() const { return dense_.data(); }            // [batch, kDenseFeatures]
  const std::int32_t* indices() const { return indices_.data(); }  // [batch, tables, bag]
  const float* labels() const { return labels_.data(); }           // [batch], 0 or 1

 private:
  const Gpu& gpu_;
  Shape shape_;
  std::uint64_t seed_;
  std::uint64_t batch_index_ = 0;
  DeviceArray<__half> dense_;
  DeviceArray<std::int32_t> indices_;
  DeviceArray<float> labels_;
};

}  // namespace dlrm
