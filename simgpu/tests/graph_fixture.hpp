// Graphs built by hand or captured, for tests of one rule each.
#pragma once

#include "driver_fixture.hpp"

#include <initializer_list>
#include <vector>

namespace simgpu {

using Nodes = std::vector<CUgraphNode>;

class GraphTest : public DriverTest {
 protected:
  static CUgraph new_graph() { return out(cuGraphCreate, 0); }
  static CUgraph clone_of(CUgraph graph) { return out(cuGraphClone, graph); }
  static CUgraphNode in_clone(CUgraphNode node, CUgraph clone) {
    return out(cuGraphNodeFindInClone, node, clone);
  }
  static CUgraphExec instantiate(CUgraph graph, unsigned long long flags = 0) {
    return out(cuGraphInstantiate, graph, flags);
  }
  CUstream new_stream(unsigned flags = CU_STREAM_NON_BLOCKING) {
    return out(cuStreamCreate, flags);
  }

  CUDA_KERNEL_NODE_PARAMS kernel_parameters(unsigned blocks) const {
    CUDA_KERNEL_NODE_PARAMS parameters{};
    parameters.func = kernel_;
    parameters.gridDimX = blocks;
    parameters.blockDimX = 32;
    parameters.gridDimY = parameters.gridDimZ = parameters.blockDimY = parameters.blockDimZ = 1;
    return parameters;
  }
  CUgraphNode add_kernel(CUgraph graph, const Nodes& after = {},
                         unsigned blocks = kBlocksFor10us) const {
    const auto parameters = kernel_parameters(blocks);
    return out(cuGraphAddKernelNode, graph, after.data(), after.size(), &parameters);
  }
  CUgraph graph_of_a_kernel(unsigned blocks = kBlocksFor10us) const {
    CUgraph graph = new_graph();
    add_kernel(graph, {}, blocks);
    return graph;
  }
  static CUgraphNode add_record(CUgraph graph, const Nodes& after, CUevent event) {
    return out(cuGraphAddEventRecordNode, graph, after.data(), after.size(), event);
  }
  static CUgraphNode add_child(CUgraph graph, const Nodes& after, CUgraph child) {
    return out(cuGraphAddChildGraphNode, graph, after.data(), after.size(), child);
  }
  static CUgraphNode add_host(CUgraph graph, const Nodes& after, CUhostFn function, void* data) {
    const CUDA_HOST_NODE_PARAMS parameters{.fn = function, .userData = data};
    return out(cuGraphAddHostNode, graph, after.data(), after.size(), &parameters);
  }
  CUgraphNode add_fill(CUgraph graph, const Nodes& after, CUdeviceptr address, unsigned char value,
                       size_t bytes) const {
    const CUDA_MEMSET_NODE_PARAMS parameters{
        .dst = address, .pitch = 0, .value = value, .elementSize = 1, .width = bytes, .height = 1};
    return out(cuGraphAddMemsetNode, graph, after.data(), after.size(), &parameters, context_);
  }
  // An allocation node; the address goes to `address`.
  CUgraphNode add_allocation(CUgraph graph, CUdeviceptr& address, size_t bytes = 64) const {
    CUDA_MEM_ALLOC_NODE_PARAMS parameters{};
    parameters.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    parameters.poolProps.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device_};
    parameters.bytesize = bytes;
    CUgraphNode node = out(cuGraphAddMemAllocNode, graph, nullptr, 0, &parameters);
    address = parameters.dptr;
    return node;
  }

  // Stream time of one launch, with the host ahead of the device.
  double replay_us(CUgraphExec exec) {
    occupy(stream_);
    const CUevent start = record(stream_);
    EXPECT_EQ(cuGraphLaunch(exec, stream_), CUDA_SUCCESS);
    return elapsed_us(start, record(stream_));
  }

  static Nodes nodes_of(CUgraph graph) {
    size_t count = 0;
    EXPECT_EQ(cuGraphGetNodes(graph, nullptr, &count), CUDA_SUCCESS);
    Nodes nodes(count);
    EXPECT_EQ(cuGraphGetNodes(graph, nodes.data(), &count), CUDA_SUCCESS);
    return nodes;
  }
  static CUgraphNodeType type_of(CUgraphNode node) {
    CUgraphNodeType type{};
    EXPECT_EQ(cuGraphNodeGetType(node, &type), CUDA_SUCCESS);
    return type;
  }
  static unsigned grid_of(CUgraphNode node) {
    CUDA_KERNEL_NODE_PARAMS parameters{};
    EXPECT_EQ(cuGraphKernelNodeGetParams(node, &parameters), CUDA_SUCCESS);
    return parameters.gridDimX;
  }
};

}  // namespace simgpu
