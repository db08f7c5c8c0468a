// From a finalized operation graph to the convolution in it, and the engines that can run it.
#pragma once

#include "cudnn/backend_descriptor.hpp"
#include "cudnn/convolution.hpp"

#include <optional>
#include <string>
#include <vector>

namespace simgpu {

// Operations of the backend API beside convolutions: products, reductions, pointwise operations,
// attention and norms.  What they check is what cuDNN 9.19 checks when they are finalized.

// OK for types that are none of these.
[[nodiscard]] cudnnStatus_t check_operation(const BackendDescriptor& operation);

// The sizes of a norm's statistics, which only the graph checks.
[[nodiscard]] cudnnStatus_t check_in_graph(const BackendDescriptor& operation);

// The work of a graph of these operations in one kernel.
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

// A graph of at most one convolution, where every pointwise operation is fused into its kernel; of
// attention or a norm; of pointwise operations alone; or one that no engine knows.
struct GraphWork {
  std::optional<Convolution> convolution;
  std::optional<FusedWork> fused;
  bool is_unknown = false;
  std::string epilogue;                  // "_add_relu", for the kernel's name
  double extra_bytes = 0;                // tensors of the pointwise operations that are in memory
  std::vector<std::int64_t> tensor_ids;  // whose pointers a variant pack must give
};

// Checks the shapes of a convolution.
[[nodiscard]] Convolution describe_operation(const BackendDescriptor& operation);

// Fails with NOT_SUPPORTED_GRAPH_PATTERN for two convolutions.
[[nodiscard]] GraphWork describe_graph(const BackendDescriptor& graph);

// How many engines there are for any graph, and what each does; 0 is the fastest.
inline constexpr std::int64_t kEngineCount = 4;
[[nodiscard]] ConvMethod engine_method(std::int64_t index);
[[nodiscard]] bool engine_supports(const GraphWork& work, std::int64_t index);
[[nodiscard]] std::int64_t engine_workspace_bytes(const GraphWork& work, std::int64_t index);
[[nodiscard]] std::vector<KernelCall> engine_kernels(const GraphWork& work, std::int64_t index);

}  // namespace simgpu
