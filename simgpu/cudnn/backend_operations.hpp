// Operations of the backend API beside convolutions: products, reductions, pointwise operations,
// attention and norms.  What they check is what cuDNN 9.19 checks when they are finalized.
#pragma once

#include "cudnn/backend_descriptor.hpp"

#include <optional>
#include <string>
#include <vector>

namespace simgpu {

// OK for types that are none of these.
[[nodiscard]] cudnnStatus_t check_operation(const BackendDescriptor& operation);

// The sizes of a norm's statistics, which only the graph checks.
[[nodiscard]] cudnnStatus_t check_in_graph(const BackendDescriptor& operation);

// What a graph of these operations does in one kernel.
struct FusedWork {
  std::string kernel;  // name
  double blocks = 1;
  double flops = 0;
  double bytes = 0;
};

// One attention operation; or the products, the softmax and the mask that it consists of, each
// reading what one before it wrote; or one norm.  Empty for any other graph.
[[nodiscard]] std::optional<FusedWork> fused_work(const std::vector<DescriptorPointer>& operations);

// The tensors that an operation reads and writes.
[[nodiscard]] std::vector<DescriptorPointer> tensors_of(const BackendDescriptor& operation);

}  // namespace simgpu
