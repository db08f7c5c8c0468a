// Binary cross-entropy of logits, and its gradient.
#pragma once

#include "gpu.hpp"

namespace dlrm {

class Loss {
 public:
  Loss(const Gpu& gpu, int batch);

  // `logits`: [batch] f16.  `labels`: [batch], 0 or 1.  Gives the gradient of the mean loss, times
  // kLossScale.  Adds the loss to what take_mean() reports.
  __half* forward_backward(const __half* logits, const float* labels);

  // The mean over all samples since the last call.  Waits for the GPU.
  double take_mean();

 private:
  const Gpu& gpu_;
  int batch_;
  long batches_since_mean_ = 0;
  DeviceArray<__half> gradient_;
  DeviceArray<double> sum_;
};

}  // namespace dlrm
