// Between the vendor's structures for nodes and the work of a node.
#pragma once

#include "driver/call.hpp"
#include "driver/launch_request.hpp"

#include <memory>

namespace simgpu {

[[nodiscard]] CopyWork copy_work(Simulator& s, const CUDA_MEMCPY3D& parameters, CUcontext context);
[[nodiscard]] CUDA_MEMCPY3D describe(Simulator& s, const CopyWork& work);

[[nodiscard]] FillWork fill_work(Simulator& s, const CUDA_MEMSET_NODE_PARAMS& parameters,
                                 CUcontext context);
[[nodiscard]] CUDA_MEMSET_NODE_PARAMS describe(const FillWork& work);

[[nodiscard]] HostWork host_work(const CUDA_HOST_NODE_PARAMS& parameters);

// Allocates; writes the address to `parameters`.
[[nodiscard]] AllocateWork allocate_work(Simulator& s, const Graph& graph,
                                         CUDA_MEM_ALLOC_NODE_PARAMS& parameters);
[[nodiscard]] AllocateWork allocate_work(Simulator& s, const Graph& graph, Context& context,
                                         std::size_t bytes);
[[nodiscard]] FreeWork free_work(Simulator& s, const Graph& graph, CUdeviceptr address);

// Returns null unless the address is that of an allocation node.
[[nodiscard]] std::shared_ptr<GraphMemory> graph_memory_at(Simulator& s, CUdeviceptr address);

// The work of any node whose parameters are not graphs, for cuGraphAddNode and its relatives.
[[nodiscard]] Work work_of(Simulator& s, const CUgraphNodeParams& parameters);

// The versions of CUDA_KERNEL_NODE_PARAMS: the first one has no `kern` and `ctx`.
template <typename Parameters>
KernelWork kernel_node_work(Simulator& s, const Parameters& parameters) {
  CUfunction handle = parameters.func;
  Context* context = s.current_or_null();
  bool given_as_kernel = false;
  if constexpr (requires { parameters.kern; }) {
    // "Kernel to launch, will only be referenced if func is NULL"; ctx: "The value NULL will
    // indicate the current context should be used by the api."
    if (handle == nullptr) {
      handle = reinterpret_cast<CUfunction>(&s.kernel(parameters.kern));
      if (parameters.ctx != nullptr) context = &s.live(parameters.ctx);
      given_as_kernel = true;
    }
  }
  require_value(handle != nullptr);
  if (context == nullptr) context = &s.current();
  const LaunchRequest request{
      .function = handle,
      .grid = {parameters.gridDimX, parameters.gridDimY, parameters.gridDimZ},
      .block = {parameters.blockDimX, parameters.blockDimY, parameters.blockDimZ},
      .shared_bytes = parameters.sharedMemBytes,
      .parameters = parameters.kernelParams,
      .extra = parameters.extra};
  KernelWork work = kernel_work(resolve(s, handle, *context), request);
  keep_arguments(work, request);
  work.given_as_kernel = given_as_kernel;
  return work;
}

// Fills what cuGraphKernelNodeGetParams returns.  The arguments stay the node's.
template <typename Parameters>
void describe(Simulator& s, const KernelWork& work, Parameters& out) {
  out = {};
  out.func = reinterpret_cast<CUfunction>(
      &s.function_of(s.module_of(*work.context, *work.kernel->library), *work.kernel));
  if constexpr (requires { out.kern; }) {
    if (work.given_as_kernel) {
      out.func = nullptr;
      out.kern = reinterpret_cast<CUkernel>(work.kernel);
    }
    out.ctx = reinterpret_cast<CUcontext>(work.context);
  }
  out.gridDimX = work.grid[0];
  out.gridDimY = work.grid[1];
  out.gridDimZ = work.grid[2];
  out.blockDimX = work.block[0];
  out.blockDimY = work.block[1];
  out.blockDimZ = work.block[2];
  out.sharedMemBytes = work.dynamic_shared_bytes;
  out.kernelParams = work.arguments->parameters();
  out.extra = work.arguments->extra();
}

}  // namespace simgpu
