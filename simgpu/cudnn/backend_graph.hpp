// From a finalized operation graph to the convolution in it, and the engines that can run it.
#pragma once

#include "cudnn/backend_descriptor.hpp"
#include "cudnn/backend_operations.hpp"
#include "cudnn/convolution.hpp"

#include <string>

namespace simgpu {

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

// The convolution of an operation; checks its shapes.
[[nodiscard]] cudnnStatus_t describe_operation(const BackendDescriptor& operation,
                                               Convolution& convolution);

// NOT_SUPPORTED_GRAPH_PATTERN for two convolutions.
[[nodiscard]] cudnnStatus_t describe_graph(const BackendDescriptor& graph, GraphWork& work);

// How many engines there are for any graph, and what each does; 0 is the fastest.
inline constexpr std::int64_t kEngineCount = 4;
[[nodiscard]] ConvMethod engine_method(std::int64_t index);
[[nodiscard]] bool engine_supports(const GraphWork& work, std::int64_t index);
[[nodiscard]] std::int64_t engine_workspace_bytes(const GraphWork& work, std::int64_t index);
[[nodiscard]] std::vector<KernelCall> engine_kernels(const GraphWork& work, std::int64_t index);

}  // namespace simgpu
